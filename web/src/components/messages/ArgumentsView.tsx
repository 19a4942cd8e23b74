// The arguments of a tool call: edits as diffs, all others as JSON. Invalid JSON is marked and
// shown as text.
import { visible } from "../../text/visible";
import { Badge } from "../Badge";
import { Code } from "../Code";
import { JsonView } from "../JsonView";
import { LongText } from "../LongText";
import { TextDiff } from "../TextDiff";
import { isObject, parsed } from "./chat";
import { type Edit, editsIn } from "./edits";
import styles from "./Messages.module.css";

export function ArgumentsView({ text }: { text: string | null }) {
  if (text === null || text.trim() === "") return <p className={styles.about}>No arguments.</p>;
  const value = parsed(text);
  if (value === undefined) {
    return (
      <>
        <p>
          <Badge tone="bad">✕ invalid JSON</Badge>
        </p>
        <LongText text={text} mono />
      </>
    );
  }
  const edits = isObject(value) ? editsIn(value) : null;
  if (edits === null) return <JsonView value={value} />;
  // biome-ignore lint/suspicious/noArrayIndexKey: the index identifies an edit
  return edits.map((edit, place) => <EditView key={place} edit={edit} />);
}

function EditView({ edit }: { edit: Edit }) {
  if (edit.kind === "patch") return <Code text={edit.diff} language="diff" label="Patch" />;
  return (
    <div className={styles.snippet}>
      <div className={styles.place}>
        <code>{visible(edit.file)}</code>
        <span className={styles.about}>{visible(edit.where)}</span>
      </div>
      {edit.before === null ? (
        <Code text={edit.after} language={edit.file} label="New text" />
      ) : (
        <div className={styles.diff}>
          <TextDiff before={edit.before} after={edit.after} />
        </div>
      )}
    </div>
  );
}
