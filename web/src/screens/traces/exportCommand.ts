// The commands that write all spans of a run into a file.
import { written } from "../../components/query/editing";

/** For a POSIX shell; an id may be any text. */
export function exportCommand(runId: string): string {
  const query = quoted(`run:${written(runId)}`);
  return [
    `treadle traces export ${query} -o run.jsonl`,
    `treadle traces export ${query} --format otlp-json -o run.json`,
  ].join("\n");
}

function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
