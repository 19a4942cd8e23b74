// A new breakpoint: which calls it holds, for how long, and what happens then.
import { useState } from "react";
import type { Given } from "../../api/schema";
import { Button } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import { NumberField } from "../../components/NumberField";
import { Select } from "../../components/Select";
import { ErrorNotice } from "../../components/States";
import { TextField } from "../../components/TextField";
import styles from "./Breakpoints.module.css";
import { useAdd } from "./queries";

interface Props {
  isOpen: boolean;
  onClose: () => void;
}

export function AddDialog({ isOpen, onClose }: Props) {
  return (
    <Dialog title="New breakpoint" isOpen={isOpen} onOpenChange={(open) => !open && onClose()}>
      <AddForm onDone={onClose} />
    </Dialog>
  );
}

const EXPIRY = [
  { id: "as set", name: "default from settings" },
  { id: "continue", name: "continue the call" },
  { id: "refuse", name: "refuse the call" },
] as const;
const MOST_SECONDS = 86_400;

function AddForm({ onDone }: { onDone: () => void }) {
  const add = useAdd();
  const [model, setModel] = useState("");
  const [thread, setThread] = useState("");
  const [labels, setLabels] = useState("");
  const [timeout, setTimeout] = useState<number | null>(null);
  const [expiry, setExpiry] = useState<(typeof EXPIRY)[number]["id"]>("as set");
  const given: Given = {
    labels: labels
      .split(",")
      .map((label) => label.trim())
      .filter(Boolean),
    model: model.trim() || null,
    thread_id: thread.trim() || null,
    timeout,
    on_expiry: expiry === "as set" ? null : expiry,
  };
  return (
    <form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault();
        add.mutate(given, { onSuccess: onDone });
      }}
    >
      <p>
        The breakpoint holds the calls that match all of these fields. If all fields are empty, it
        holds every call.
      </p>
      <TextField
        label="Model"
        value={model}
        onChange={setModel}
        hint="The name that the client sends. * and ? are wildcards."
        autoFocus
      />
      <TextField
        label="Labels"
        value={labels}
        onChange={setLabels}
        hint="Separate labels with commas. A call matches if it has one of them. * and ? are wildcards."
      />
      <TextField label="Thread" value={thread} onChange={setThread} hint="Complete thread id" />
      <NumberField
        label="Timeout (s)"
        value={timeout}
        onChange={setTimeout}
        least={0.1}
        most={MOST_SECONDS}
        hint="Default from settings"
      />
      <Select label="On timeout" value={expiry} options={EXPIRY} onChange={setExpiry} />
      <p>
        <Button kind="primary" type="submit" isDisabled={add.isPending}>
          Create breakpoint
        </Button>
      </p>
      {add.error && <ErrorNotice what="The breakpoint could not be created" error={add.error} />}
    </form>
  );
}
