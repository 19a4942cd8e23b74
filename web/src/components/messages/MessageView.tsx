// One recorded message: its role and its content.
import { memo } from "react";
import { visible } from "../../text/visible";
import { Badge } from "../Badge";
import { Button } from "../Button";
import { JsonView } from "../JsonView";
import { LongText } from "../LongText";
import { ArgumentsView } from "./ArgumentsView";
import { AttachmentView } from "./AttachmentView";
import styles from "./Messages.module.css";
import { MessageText } from "./MessageText";
import type { CallPart, Message, Part } from "./message";
import { ResultView } from "./ResultView";

interface Props {
  message: Message;
  /** The index of the message, and its element id. */
  place: number;
  id: (key: string) => string;
  /** For a result: the call that it answers. */
  call: { key: string; name: string } | null;
  /** For each call by its index: the message that answers it; null if none does. */
  answers: ReadonlyMap<number, number | null>;
}

export const MessageView = memo(function MessageView(props: Props) {
  const { message, place, id, call, answers } = props;
  return (
    <article
      className={styles.message}
      data-role={message.role}
      id={id(String(place))}
      tabIndex={-1}
    >
      <header className={styles.header}>
        <span className={styles.role}>{visible(message.role.slice(0, 100))}</span>
        {message.name && (
          <span className={styles.about}>{visible(message.name.slice(0, 200))}</span>
        )}
        {message.failed && <Badge tone="bad">✕ failed</Badge>}
        {call && (
          <Button kind="quiet" small onPress={() => reveal(id(call.key))}>
            result of {visible(call.name)} ↑
          </Button>
        )}
        {message.answers !== null && !call && (
          <span className={styles.about}>answers {visible(message.answers.slice(0, 200))}</span>
        )}
      </header>
      {message.parts.length === 0 && <p className={styles.about}>No content.</p>}
      {message.parts.map((part, at) => (
        <PartView
          // biome-ignore lint/suspicious/noArrayIndexKey: the index identifies a part
          key={at}
          part={part}
          role={message.role}
          id={id(`${place}.${at}`)}
          answer={answers.get(at) ?? null}
          onAnswer={(answer) => reveal(id(String(answer)))}
        />
      ))}
    </article>
  );
});

interface PartProps {
  part: Part;
  role: string;
  id: string;
  answer: number | null;
  onAnswer: (answer: number) => void;
}

function PartView({ part, role, ...call }: PartProps) {
  switch (part.kind) {
    case "text":
      if (part.text === "") return <p className={styles.about}>Empty text</p>;
      if (role === "tool") return <ResultView text={part.text} />;
      return <MessageText text={part.text} />;
    case "reasoning":
      return <Folded name="Reasoning">{<LongText text={part.text} />}</Folded>;
    case "refusal":
      return (
        <>
          <Badge tone="warn">⊘ refusal</Badge>
          <LongText text={part.text} />
        </>
      );
    case "call":
      return <CallView part={part} {...call} />;
    case "attachment":
      return <AttachmentView attachment={part} />;
    case "other":
      return (
        <div className={styles.call}>
          <span className={styles.about}>{visible(part.type.slice(0, 100))}</span>
          <JsonView value={part.value} />
        </div>
      );
  }
}

function CallView({
  part,
  id,
  answer,
  onAnswer,
}: Omit<PartProps, "part" | "role"> & { part: CallPart }) {
  return (
    <section className={styles.call} id={id} tabIndex={-1} aria-label={`Call of ${part.name}`}>
      <header className={styles.header}>
        <span aria-hidden="true">→</span>
        <code className={styles.tool}>{visible(part.name.slice(0, 200))}</code>
        {part.id && <span className={styles.about}>{visible(part.id.slice(0, 100))}</span>}
        {answer !== null && (
          <Button kind="quiet" small onPress={() => onAnswer(answer)}>
            result ↓
          </Button>
        )}
      </header>
      <ArgumentsView text={part.arguments} />
    </section>
  );
}

function Folded({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <details className={styles.folded}>
      <summary>{name}</summary>
      {children}
    </details>
  );
}

/** Scrolls a message or call into view and focuses it. */
function reveal(id: string): void {
  const element = document.getElementById(id);
  element?.scrollIntoView({ block: "nearest" });
  element?.focus({ preventScroll: true });
}
