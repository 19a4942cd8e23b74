// The content of a span in a readable form, by its kind.
import type { Span, SpanContent } from "../../../api/schema";
import { JsonView } from "../../../components/JsonView";
import { LongText } from "../../../components/LongText";
import { ArgumentsView } from "../../../components/messages/ArgumentsView";
import type { MarkedText } from "../../../components/messages/blobs";
import { messagesInText, parsed } from "../../../components/messages/chat";
import { Messages } from "../../../components/messages/Messages";
import { ResultView } from "../../../components/messages/ResultView";
import { TextWithSnippets } from "../../../components/messages/SnippetView";
import styles from "./Detail.module.css";
import { Failures } from "./Failures";
import { ModelCall } from "./ModelCall";
import { Part } from "./Part";
import { Sources } from "./Sources";
import { Whole } from "./Whole";

export function Formatted({ content }: { content: SpanContent }) {
  const { span } = content;
  const isEmpty = span.input === null && span.output === null;
  return (
    <div className={styles.formatted}>
      <Failures span={span} />
      <ByKind content={content} />
      {isEmpty && span.error === null && (
        <p className={styles.about}>
          {span.status === "unfinished"
            ? "Nothing is recorded yet."
            : "No input or output was recorded. The attributes are under Metadata."}
        </p>
      )}
    </div>
  );
}

function ByKind({ content }: { content: SpanContent }) {
  const { span } = content;
  switch (span.kind) {
    case "model":
      return <ModelCall content={content} />;
    case "tool":
      return (
        <>
          <Side content={content} side="input" title="Arguments">
            {({ text }) => <ArgumentsView text={text} />}
          </Side>
          <Side content={content} side="output" title="Result">
            {({ text }) => <ResultView text={text} />}
          </Side>
        </>
      );
    case "retrieval":
      return (
        <>
          <Side content={content} side="input" title="Query">
            {({ text }) => <LongText text={text} />}
          </Side>
          <Sources span={span} />
          <Side content={content} side="output" title="Result">
            {({ text }) => <ResultView text={text} />}
          </Side>
        </>
      );
    default:
      return <Plain content={content} names={namesOf(span)} />;
  }
}

function namesOf(span: Span): { input: string; output: string } {
  if (span.kind === "run") return { input: "Question", output: "Answer" };
  if (span.kind === "approval") return { input: "Question", output: "Answer" };
  return { input: "Input", output: "Output" };
}

function Plain({ content, names }: { content: SpanContent; names: ReturnType<typeof namesOf> }) {
  return (
    <>
      <Side content={content} side="input" title={names.input}>
        {(text) => <AnyText text={text} speaker="user" />}
      </Side>
      <Side content={content} side="output" title={names.output}>
        {(text) => <AnyText text={text} speaker="assistant" />}
      </Side>
    </>
  );
}

interface SideProps {
  content: SpanContent;
  side: "input" | "output";
  title: string;
  about?: React.ReactNode;
  children: (text: MarkedText) => React.ReactNode;
}

export function Side({ content, side, title, about, children }: SideProps) {
  if (content.span[side] === null) return null;
  return (
    <Part title={title} about={about}>
      <Whole content={content} path={[side]}>
        {children}
      </Whole>
    </Part>
  );
}

/** Any text: messages if it is a list of them, JSON as JSON, other text unchanged. */
function AnyText({ text, speaker }: { text: MarkedText; speaker: string }) {
  if (text.text.startsWith('[{"role"')) {
    return <Messages messages={messagesInText(text, speaker)} label="Messages" />;
  }
  const value = /^\s*[[{]/.test(text.text) ? parsed(text.text) : undefined;
  return value === undefined ? <TextWithSnippets text={text.text} /> : <JsonView value={value} />;
}
