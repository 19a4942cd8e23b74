// Continues a held call, unchanged or changed, or refuses it with a reason for its client.
import { useState } from "react";
import { Button } from "../../components/Button";
import { useNotices } from "../../components/Notices";
import { ErrorNotice } from "../../components/States";
import { TextField } from "../../components/TextField";
import { useShortcut } from "../../shortcuts/ShortcutProvider";
import styles from "./Breakpoints.module.css";
import { type Decided, useDecide } from "./queries";

interface Props {
  id: string;
  /** The request to send instead; null: the original one. */
  body: string | null;
  /** The error in that request. */
  problem: string | null;
}

const HERE = "Held call";

export function DecideBar({ id, body, problem }: Props) {
  const decide = useDecide(id);
  const { tell } = useNotices();
  const [refusing, refuse] = useState(false);
  const [reason, setReason] = useState("");
  const run = (decided: Decided, told: string) =>
    decide.mutate(decided, { onSuccess: () => tell({ kind: "good", text: told }) });
  const goOn = () =>
    run({ act: "continue", body }, body ? "The changed call continues." : "The call continues.");
  const canGoOn = !decide.isPending && (body === null || problem === null);
  useShortcut({ keys: "c", does: "Continue the call", where: HERE }, goOn, canGoOn);
  useShortcut({ keys: "x", does: "Refuse the call", where: HERE }, () => refuse(true));
  return (
    <>
      <div className={styles.bar}>
        <Button kind="primary" keys="c" isDisabled={!canGoOn} onPress={goOn}>
          {body === null ? "Continue" : "Continue with my changes"}
        </Button>
        <Button kind="danger" keys="x" aria-expanded={refusing} onPress={() => refuse(!refusing)}>
          Refuse…
        </Button>
      </div>
      {refusing && (
        <form
          className={styles.form}
          onSubmit={(event) => {
            event.preventDefault();
            run({ act: "refuse", reason: reason.trim() }, "The call is refused.");
          }}
        >
          <TextField
            label="Reason (sent to the client)"
            value={reason}
            onChange={setReason}
            autoFocus
          />
          <p>
            <Button kind="danger" type="submit" isDisabled={decide.isPending}>
              Refuse
            </Button>
          </p>
        </form>
      )}
      {decide.error && <ErrorNotice what="The decision could not be sent" error={decide.error} />}
    </>
  );
}
