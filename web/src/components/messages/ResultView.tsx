// The result of a tool: code as code, changed files as diffs, the rest as JSON or text.
import { visible } from "../../text/visible";
import { Badge } from "../Badge";
import { Code } from "../Code";
import { JsonView } from "../JsonView";
import { isObject, parsed } from "./chat";
import styles from "./Messages.module.css";
import { SnippetView, TextWithSnippets } from "./SnippetView";
import { segments } from "./snippets";

export function ResultView({ text }: { text: string }) {
  const value = /^\s*[[{]/.test(text) ? parsed(text) : undefined;
  if (value === undefined) return <TextWithSnippets text={text} mono />;
  if (!isObject(value)) return <JsonView value={value} />;
  const { context, snippet, files, ...rest } = value;
  const items = Array.isArray(context) && context.every(isCode) ? context : null;
  const single = isCode({ ...rest, snippet }) ? [{ ...rest, snippet } as CodeItem] : null;
  const changed = Array.isArray(files) && files.some(isChanged) ? files.filter(isChanged) : null;
  if (items === null && single === null && changed === null) {
    return (
      <>
        <Failure value={value} />
        <JsonView value={value} />
      </>
    );
  }
  const left = {
    ...rest,
    ...(items === null && context !== undefined ? { context } : {}),
    ...(single === null && snippet !== undefined ? { snippet } : {}),
    ...(changed === null && files !== undefined ? { files } : {}),
  };
  return (
    <>
      <Failure value={value} />
      {[...(items ?? []), ...(single ?? [])].map((item, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the index identifies an item
        <ItemView key={place} item={item} />
      ))}
      {changed?.map((file) => (
        <div key={file.path} className={styles.snippet}>
          <div className={styles.place}>
            <code>{visible(file.path)}</code>
          </div>
          <Code text={file.preview} language="diff" label={`Change of ${file.path}`} />
        </div>
      ))}
      <JsonView value={left} openDepth={1} />
    </>
  );
}

interface CodeItem {
  file: string;
  snippet: string;
  lines?: unknown;
  canonical_path?: unknown;
}

function isCode(value: unknown): value is CodeItem {
  return isObject(value) && typeof value.file === "string" && typeof value.snippet === "string";
}

function isChanged(value: unknown): value is { path: string; preview: string } {
  return isObject(value) && typeof value.path === "string" && typeof value.preview === "string";
}

function ItemView({ item }: { item: CodeItem }) {
  const lines = typeof item.lines === "string" ? item.lines : null;
  const name = typeof item.canonical_path === "string" ? item.canonical_path : null;
  const found = segments(item.snippet);
  const only = found.length === 1 ? found[0] : undefined;
  const code = only?.kind === "snippet" ? only.code : item.snippet;
  return <SnippetView file={item.file} lines={lines} name={name} code={code} />;
}

/** The failure that a tool reports in its result. */
function Failure({ value }: { value: Record<string, unknown> }) {
  const failed = value.ok === false || value.success === false;
  if (!failed) return null;
  return (
    <p>
      <Badge tone="bad">✕ failed</Badge>{" "}
      {typeof value.error === "string" ? visible(value.error.slice(0, 500)) : ""}
    </p>
  );
}
