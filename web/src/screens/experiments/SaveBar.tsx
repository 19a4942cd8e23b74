// Unsaved changes: what they change, their errors, and the actions on them.
import { useState } from "react";
import { Badge } from "../../components/Badge";
import { Button } from "../../components/Button";
import { useNotices } from "../../components/Notices";
import { ErrorNotice } from "../../components/States";
import { TextField } from "../../components/TextField";
import { useShortcut } from "../../shortcuts/ShortcutProvider";
import { visible } from "../../text/visible";
import type { Experiment } from "./queries";
import type { Draft, DraftAction, Problem } from "./request/draft";
import { differences } from "./request/versions";
import styles from "./SaveBar.module.css";
import type { Editing } from "./useDraft";

const MOST = 8;

export function SaveBar({ experiment, editing }: { experiment: Experiment; editing: Editing }) {
  const { draft, dispatch, changed, problems, saving } = editing;
  const [note, setNote] = useState("");
  const { tell } = useNotices();
  const save = async () => {
    const first = problems[0];
    if (!changed) return tell({ kind: "info", text: "There is nothing to save." });
    if (first) return tell({ kind: "bad", text: `${toldOf(first)} Nothing was saved.` });
    const version = await editing.save(note);
    if (version === null) return;
    setNote("");
    tell({ kind: "good", text: `Saved as version ${version}.` });
  };
  useShortcut(
    { keys: "Mod+s", does: "Save as a new version", where: "Experiment", inFields: true },
    () => void save(),
  );
  if (draft.clash) return <ClashNotice clash={draft.clash} dispatch={dispatch} />;
  if (!changed) return null;
  const paths = differences(draft.base, draft.request).map((each) => each.path);
  return (
    <section className={styles.bar} aria-label="Unsaved changes">
      <div className={styles.line}>
        <Badge tone="accent">● unsaved</Badge>
        <Paths paths={paths} />
      </div>
      <Problems problems={problems} />
      {editing.error != null && (
        <ErrorNotice what="The version could not be saved" error={editing.error} />
      )}
      <div className={styles.line}>
        <div className={styles.note}>
          <TextField
            label="Note"
            hideLabel
            placeholder="Purpose of this change (optional)"
            value={note}
            onChange={setNote}
          />
        </div>
        <Button small onPress={() => dispatch({ type: "discard" })}>
          Discard
        </Button>
        <Button
          small
          kind="primary"
          keys="Mod+s"
          isDisabled={saving || problems.length > 0}
          onPress={() => void save()}
        >
          {saving ? "Saving…" : `Save as v${experiment.version + 1}`}
        </Button>
      </div>
    </section>
  );
}

function Problems({ problems }: { problems: readonly Problem[] }) {
  if (problems.length === 0) return null;
  return (
    <ul className={styles.problems} aria-label="Problems">
      {problems.slice(0, MOST).map((each) => (
        <li key={`${each.field} ${each.message}`}>
          <span aria-hidden="true">✕ </span>
          {toldOf(each)}
        </li>
      ))}
      {problems.length > MOST && <li>and {problems.length - MOST} more</li>}
    </ul>
  );
}

function toldOf(problem: Problem): string {
  return visible(problem.field ? `${problem.field}: ${problem.message}` : problem.message);
}

export function Paths({ paths }: { paths: readonly string[] }) {
  return (
    <span className={styles.paths}>
      {paths.slice(0, MOST).map((path) => (
        <code key={path}>{visible(path.slice(0, 200))}</code>
      ))}
      {paths.length > MOST && <span>and {paths.length - MOST} more</span>}
    </span>
  );
}

interface ClashProps {
  clash: NonNullable<Draft["clash"]>;
  dispatch: (action: DraftAction) => void;
}

function ClashNotice({ clash, dispatch }: ClashProps) {
  return (
    <section className={styles.bar} role="alert">
      <div className={styles.line}>
        <Badge tone="warn">⚠ changed elsewhere</Badge>
        <span>
          Version {clash.version} was saved elsewhere and changes the same fields. Your unsaved
          changes are kept.
        </span>
      </div>
      <Paths paths={clash.paths} />
      <div className={styles.line}>
        <Button small onPress={() => dispatch({ type: "keep", whose: "mine" })}>
          Keep my changes and replace version {clash.version}
        </Button>
        <Button small onPress={() => dispatch({ type: "keep", whose: "theirs" })}>
          Discard my changes and use version {clash.version}
        </Button>
      </div>
    </section>
  );
}
