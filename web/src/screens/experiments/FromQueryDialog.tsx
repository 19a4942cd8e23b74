// Creates an experiment from the newest calls of a query: a data set.
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { client, ok } from "../../api/client";
import { Button } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import { NumberField } from "../../components/NumberField";
import { ErrorNotice } from "../../components/States";
import { TextField } from "../../components/TextField";
import styles from "./RunDialog.module.css";

const MOST_CALLS = 500;

interface Props {
  isOpen: boolean;
  onOpenChange: (open: boolean) => void;
  onMade: (id: string) => void;
}

export function FromQueryDialog({ isOpen, onOpenChange, onMade }: Props) {
  return (
    <Dialog title="New experiment" isOpen={isOpen} onOpenChange={onOpenChange}>
      <Form onOpenChange={onOpenChange} onMade={onMade} />
    </Dialog>
  );
}

function Form({ onOpenChange, onMade }: Omit<Props, "isOpen">) {
  const [query, setQuery] = useState("kind:model");
  const [limit, setLimit] = useState<number | null>(20);
  const [name, setName] = useState("");
  const making = useMutation({
    mutationFn: () =>
      ok(
        client.POST("/api/v1/experiments", {
          body: { query, limit: limit ?? 20, name },
        }),
      ),
    onSuccess: (made) => {
      onOpenChange(false);
      onMade(made.id);
    },
  });
  return (
    <form
      className={styles.choices}
      onSubmit={(event) => {
        event.preventDefault();
        making.mutate();
      }}
    >
      <TextField
        label="Query"
        mono
        autoFocus
        value={query}
        onChange={setQuery}
        hint="Uses the query language of the search bar. The model calls become a data set, and each change runs on all of them."
      />
      <NumberField
        label="Maximum number of calls (newest first)"
        value={limit}
        onChange={setLimit}
        least={1}
        most={MOST_CALLS}
        whole
      />
      <TextField
        label="Name"
        value={name}
        onChange={setName}
        placeholder="default: name of the first call"
      />
      {making.isError && (
        <ErrorNotice what="The experiment could not be created" error={making.error} />
      )}
      <div className={styles.end}>
        <Button onPress={() => onOpenChange(false)}>Cancel</Button>
        <Button kind="primary" type="submit" isDisabled={making.isPending || !query.trim()}>
          {making.isPending ? "Creating…" : "Create"}
        </Button>
      </div>
    </form>
  );
}
