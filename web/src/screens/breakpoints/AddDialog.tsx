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
  { id: "as set", name: "as the settings say" },
  { id: "continue", name: "it goes on" },
  { id: "refuse", name: "it is refused" },
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
      <p>It holds the calls that fit all that you say here; with nothing said, all of them.</p>
      <TextField
        label="Model"
        value={model}
        onChange={setModel}
        hint="As the client names it, with * and ?"
        autoFocus
      />
      <TextField
        label="Labels"
        value={labels}
        onChange={setLabels}
        hint="With commas; a call needs one of them. * and ? stand for anything."
      />
      <TextField label="Thread" value={thread} onChange={setThread} hint="Its whole id" />
      <NumberField
        label="Seconds that a call is held"
        value={timeout}
        onChange={setTimeout}
        least={0.1}
        most={MOST_SECONDS}
        hint="Empty: as the settings say"
      />
      <Select label="When they are over" value={expiry} options={EXPIRY} onChange={setExpiry} />
      <p>
        <Button kind="primary" type="submit" isDisabled={add.isPending}>
          Hold these calls
        </Button>
      </p>
      {add.error && <ErrorNotice what="The breakpoint was not made" error={add.error} />}
    </form>
  );
}
