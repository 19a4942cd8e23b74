// The actions on a proposal, for all of it or for the selected hunks.
import { useState } from "react";
import { ApiError } from "../../api/client";
import type { ShownProposal } from "../../api/schema";
import { Button } from "../../components/Button";
import { useNotices } from "../../components/Notices";
import { ErrorNotice } from "../../components/States";
import { useShortcut } from "../../shortcuts/ShortcutProvider";
import styles from "./DecisionBar.module.css";
import { DenyDialog } from "./DenyDialog";
import { type Act, useAct } from "./queries";
import { isOpen } from "./state";
import type { Hunks } from "./useHunks";

const HERE = "Proposal";

interface Props {
  proposal: ShownProposal;
  hunks: Hunks;
}

export function DecisionBar({ proposal, hunks }: Props) {
  const { state } = proposal;
  const act = useAct(proposal.id);
  const { tell } = useNotices();
  const [denying, setDenying] = useState(false);
  const deny = (isAsked: boolean) => {
    if (isAsked) act.reset(); // an earlier error does not belong to this action
    setDenying(isAsked);
  };
  const open = isOpen(state);
  const run = (wanted: Act, told: string) =>
    act.mutate(wanted, {
      onSuccess: () => {
        hunks.clear();
        deny(false);
        tell({ kind: "good", text: told });
      },
    });
  const chosen = [...hunks.selected];
  const some = chosen.length > 0 && chosen.length < hunks.undecided.length ? chosen : null;
  const approve = () =>
    run({ act: "approve", decision: { hunks: some } }, "The changes are written.");
  const can = open && !act.isPending;
  useShortcut({ keys: "a", does: "Approve the selected hunks, or all", where: HERE }, approve, can);
  useShortcut(
    { keys: "d", does: "Deny the selected hunks, or all, with a reason", where: HERE },
    () => deny(true),
    can,
  );
  const moved = proposal.files.some((file) => file.freshness !== "fresh");
  return (
    <>
      <div className={styles.bar}>
        {open && (
          <>
            <Button kind="primary" keys="a" isDisabled={!can} onPress={approve}>
              {some ? `Approve ${some.length} of ${hunks.undecided.length} hunks` : "Approve all"}
            </Button>
            <Button kind="danger" keys="d" isDisabled={!can} onPress={() => deny(true)}>
              {some ? `Deny ${some.length} of ${hunks.undecided.length} hunks…` : "Deny all…"}
            </Button>
          </>
        )}
        {open && (moved || state === "conflicted") && (
          <Button
            isDisabled={!can}
            onPress={() => run({ act: "restage" }, "The hunks now apply to the current files.")}
            tip="Apply the hunks to the current files"
          >
            Restage
          </Button>
        )}
        <Undoing
          state={state}
          isBusy={act.isPending}
          hasConflict={proposal.files.length > 1 && isConflict(act.error)}
          run={run}
        />
        {open && (
          <span className={styles.hint}>
            {some ? "Unselected hunks will be denied." : hintOf(hunks)}
          </span>
        )}
      </div>
      {act.error && <Failed error={act.error} wasDenying={denying} />}
      <DenyDialog
        isOpen={denying}
        what={some ? `${some.length} of ${hunks.undecided.length} hunks` : "the whole proposal"}
        isBusy={act.isPending}
        error={act.error}
        onClose={() => deny(false)}
        onDeny={(words) =>
          run(
            { act: "deny", decision: { hunks: some, words: words || null } },
            "The proposal is denied.",
          )
        }
      />
    </>
  );
}

function hintOf(hunks: Hunks): string {
  return hunks.undecided.length > 1 ? "j and k move between hunks, Space selects one." : "";
}

interface UndoingProps {
  state: ShownProposal["state"];
  isBusy: boolean;
  /** Undoing failed because some of the files have changed. */
  hasConflict: boolean;
  run: (wanted: Act, told: string) => void;
}

function Undoing({ state, isBusy, hasConflict, run }: UndoingProps) {
  const undo = () => run({ act: "undo" }, "The change is undone.");
  const redo = () => run({ act: "redo" }, "The change is applied again.");
  const canUndo = state === "applied" || state === "partly undone";
  const canRedo = state === "undone" || state === "partly undone";
  useShortcut({ keys: "u", does: "Undo", where: HERE }, undo, canUndo && !isBusy);
  useShortcut({ keys: "r", does: "Redo", where: HERE }, redo, canRedo && !isBusy);
  const undoOthers = () =>
    run({ act: "undo", keepChanged: true }, "The unchanged files are restored.");
  return (
    <>
      {canUndo && (
        <Button keys="u" isDisabled={isBusy} onPress={undo}>
          {state === "applied" ? "Undo" : "Undo the rest"}
        </Button>
      )}
      {canUndo && hasConflict && (
        <Button isDisabled={isBusy} onPress={undoOthers}>
          Undo the other files
        </Button>
      )}
      {canRedo && (
        <Button keys="r" isDisabled={isBusy} onPress={redo}>
          Redo
        </Button>
      )}
    </>
  );
}

function isConflict(error: unknown): boolean {
  return error instanceof ApiError && error.status === 409;
}

function Failed({ error, wasDenying }: { error: unknown; wasDenying: boolean }) {
  if (wasDenying) return null; // the dialog shows it
  const conflict = isConflict(error);
  return (
    <ErrorNotice
      what={conflict ? "Nothing was written: the files have changed" : "The action failed"}
      error={error}
    />
  );
}
