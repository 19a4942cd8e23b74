// The request: the compared version on the left, the edited one on the right, as a form or JSON.
import { useCallback, useMemo, useState } from "react";
import { Badge } from "../../components/Badge";
import { Button } from "../../components/Button";
import { Code } from "../../components/Code";
import { Select } from "../../components/Select";
import { TextField } from "../../components/TextField";
import { useShortcut } from "../../shortcuts/ShortcutProvider";
import type { ExperimentSearch } from "../searches";
import { EditContext } from "./editor/EditContext";
import { RequestForm } from "./editor/RequestForm";
import type { Experiment, SearchChange } from "./queries";
import styles from "./RequestPanel.module.css";
import { type Draft, WHOLE } from "./request/draft";
import type { JsonObject } from "./request/json";
import { requestAt } from "./request/versions";
import { SaveBar } from "./SaveBar";
import { asVersioned, type Editing } from "./useDraft";

interface Props {
  experiment: Experiment;
  item: number;
  editing: Editing;
  search: ExperimentSearch;
  onSearch: (change: SearchChange) => void;
}

const HERE = "Experiment";

export function RequestPanel({ experiment, item, editing, search, onSearch }: Props) {
  const { draft, dispatch } = editing;
  const [side, show] = useState<"before" | "after">("after");
  const compared = versionOf(search.version, experiment.version);
  const before = useMemo(
    () => requestAt(asVersioned(experiment), item, compared),
    [experiment, item, compared],
  );
  const asJson = search.edit === "json";
  const toggleJson = () => onSearch({ edit: asJson ? undefined : "json" });
  const step = (by: number) => {
    const next = Math.min(Math.max(compared + by, 0), experiment.version);
    onSearch({ version: next === 0 ? undefined : String(next) });
  };
  useShortcut({ keys: "e", does: "Edit as a form or as JSON", where: HERE }, toggleJson);
  useShortcut({ keys: "[", does: "Compare with the previous version", where: HERE }, () =>
    step(-1),
  );
  useShortcut({ keys: "]", does: "Compare with the next version", where: HERE }, () => step(1));
  const report = useCallback(
    (field: string, why: string | null) => dispatch({ type: "unread", field, why }),
    [dispatch],
  );
  const edit = useMemo(() => ({ problems: editing.problems, report }), [editing.problems, report]);
  const notes = experiment.items[item]?.notes ?? [];
  return (
    <div className={styles.panel} data-side={side}>
      <SaveBar experiment={experiment} editing={editing} />
      <div className={styles.tools}>
        <Select
          label="Compare with"
          value={String(compared)}
          options={versionOptions(experiment)}
          onChange={(chosen) => onSearch({ version: chosen === "0" ? undefined : chosen })}
        />
        {experiment.items.length > 1 && (
          <Select
            label="Call"
            value={String(item)}
            options={experiment.items.map((each) => ({
              id: String(each.number),
              name: `${each.number + 1} of ${experiment.items.length}`,
            }))}
            onChange={(chosen) => onSearch({ item: chosen === "0" ? undefined : chosen })}
            isDisabled={draft.clash !== null}
          />
        )}
        <span className={styles.switch}>
          <Button small onPress={() => show(side === "before" ? "after" : "before")}>
            {side === "before" ? "Show the edited version" : "Show the compared version"}
          </Button>
        </span>
        <span className={styles.end}>
          <Button small onPress={toggleJson} keys="e" aria-pressed={asJson}>
            {asJson ? "Edit as a form" : "Edit as JSON"}
          </Button>
        </span>
      </div>
      {notes.map((note) => (
        <p key={note} className={styles.note}>
          <span aria-hidden="true">ⓘ </span>
          {note}
        </p>
      ))}
      <div className={styles.titles} aria-hidden="true">
        <strong>{compared === 0 ? "Original, as recorded" : `Version ${compared}`}</strong>
        <strong>
          {draft.version === 0 ? "Your change" : `Version ${draft.version}`}
          {editing.changed ? " with unsaved changes" : ""}
        </strong>
      </div>
      <EditContext value={edit}>
        {asJson ? (
          <AsJson before={before} draft={draft} editing={editing} />
        ) : (
          <>
            {draft.text !== null && Object.hasOwn(draft.unread, WHOLE) && (
              <p className={styles.note}>
                <Badge tone="bad">✕ not valid</Badge> The JSON text is not valid. The form shows the
                last valid state.{" "}
                <Button small onPress={() => dispatch({ type: "edit", request: draft.request })}>
                  Discard the JSON text
                </Button>
              </p>
            )}
            <RequestForm
              before={before}
              request={draft.request}
              calls={experiment.items.length}
              onChange={(request) => dispatch({ type: "edit", request })}
            />
          </>
        )}
      </EditContext>
    </div>
  );
}

function AsJson({
  before,
  draft,
  editing,
}: {
  before: JsonObject;
  draft: Draft;
  editing: Editing;
}) {
  const problem = draft.unread[WHOLE];
  return (
    <div className={styles.json}>
      <div className={styles.before}>
        <Code text={JSON.stringify(before, null, 2)} language="json" label="Compared with" />
      </div>
      <div className={styles.after}>
        <TextField
          label="The request as JSON"
          hideLabel
          mono
          rows={20}
          value={draft.text ?? JSON.stringify(draft.request, null, 2)}
          problem={problem ? `This is not JSON: ${problem}` : null}
          onChange={(text) => editing.dispatch({ type: "type", text })}
        />
      </div>
    </div>
  );
}

export function versionOf(text: string | undefined, newest: number): number {
  const number = Number(text ?? "0");
  return Number.isInteger(number) && number >= 0 && number <= newest ? number : 0;
}

function versionOptions(experiment: Experiment) {
  const versions = experiment.versions.map(({ number, note }) => ({
    id: String(number),
    name: note ? `v${number}: ${note.slice(0, 60)}` : `v${number}`,
  }));
  return [{ id: "0", name: "original" }, ...versions];
}
