// The button that offers what to compare a run, trace or thread with.
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { Button } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import { TextField } from "../../components/TextField";
import { useShortcut } from "../../shortcuts/ShortcutProvider";
import { Candidates } from "./Candidates";
import styles from "./Compare.module.css";

interface Props {
  /** The id of a run, trace or thread. */
  of: string;
}

export function CompareWith({ of }: Props) {
  const [isOpen, setOpen] = useState(false);
  useShortcut({ keys: "c", does: "Compare with another run", where: "Compare" }, () =>
    setOpen(true),
  );
  return (
    <>
      <Button small keys="c" onPress={() => setOpen(true)}>
        Compare with…
      </Button>
      <Dialog title="Compare with" isOpen={isOpen} onOpenChange={setOpen}>
        <Candidates of={of} />
        <Other of={of} />
      </Dialog>
    </>
  );
}

function Other({ of }: Props) {
  const navigate = useNavigate();
  const [id, setId] = useState("");
  const compare = () => {
    if (id.trim()) void navigate({ to: "/compare", search: { a: id.trim(), b: of } });
  };
  return (
    <form
      className={styles.other}
      onSubmit={(event) => {
        event.preventDefault();
        compare();
      }}
    >
      <div className={styles.otherId}>
        <TextField label="Another run, trace or thread (its id)" value={id} onChange={setId} mono />
      </div>
      <Button onPress={compare} isDisabled={!id.trim()}>
        Compare
      </Button>
    </form>
  );
}
