// Code of a file: its location to copy, and its lines in colour.
import { visible } from "../../text/visible";
import { Code } from "../Code";
import { CopyButton } from "../CopyButton";
import { LongText } from "../LongText";
import styles from "./Messages.module.css";
import { type Segment, segments } from "./snippets";

interface Props {
  /** Relative to the repository, or as written. */
  file: string;
  /** "120-160": the first and the last line. */
  lines?: string | null;
  name?: string | null;
  code: string;
}

export function SnippetView({ file, lines, name, code }: Props) {
  const first = Number.parseInt(lines ?? "", 10);
  const place = Number.isNaN(first) ? file : `${file}:${first}`;
  return (
    <div className={styles.snippet}>
      <div className={styles.place}>
        <code>{visible(lines ? `${file}:${lines}` : file)}</code>
        {name && <span className={styles.about}>{visible(name)}</span>}
        <CopyButton text={place} label="Copy location" />
      </div>
      <Code text={code} language={file} {...(Number.isNaN(first) ? {} : { startLine: first })} />
    </div>
  );
}

/** A text whose snippets are shown as code. */
export function TextWithSnippets({ text, mono = false }: { text: string; mono?: boolean }) {
  if (!text.includes('<code="')) return <LongText text={text} mono={mono} />;
  return (
    <>
      {segments(text).map((each, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the index identifies a segment
        <SegmentView key={place} segment={each} mono={mono} />
      ))}
    </>
  );
}

function SegmentView({ segment, mono }: { segment: Segment; mono: boolean }) {
  if (segment.kind === "text") return <LongText text={segment.text} mono={mono} />;
  const { path, start, end, code } = segment;
  return <SnippetView file={path} name={`bytes ${start}–${end}`} code={code} />;
}
