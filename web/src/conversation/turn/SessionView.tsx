// What one agent did, in order: its text, reasoning and calls, and the agents below its calls.
import { memo, useId, useState } from "react";
import { LongText } from "../../components/LongText";
import { visible } from "../../text/visible";
import { CallView } from "./CallView";
import { SaidText } from "./SaidText";
import styles from "./SessionView.module.css";
import { StreamedMarkdown } from "./StreamedMarkdown";
import { begunBy, type Call, type Item, type Note, type Session, type Turn } from "./turn";

interface Props {
  turn: Turn;
  session: Session;
  /** The recorded trace; null if unknown. */
  traceId: string | null;
  /** The text that is shown below as the answer, and therefore left out here. */
  answer: string | null;
}

export function SessionView({ turn, session, traceId, answer }: Props) {
  const items = session.items.filter((item) => !isAnswer(item, answer));
  return (
    <div className={styles.items}>
      {items.map((item, place) => (
        <ItemView
          key={keyOf(item, place)}
          item={item}
          turn={turn}
          session={session}
          traceId={traceId}
          isLast={place === items.length - 1}
        />
      ))}
      {session.waiting && <p className={styles.waiting}>{visible(session.waiting)}</p>}
    </div>
  );
}

/** `final` is the answer itself, and so is a text that ends a session without `final`. */
function isAnswer(item: Item, answer: string | null): boolean {
  if (item.kind === "call") return item.name === "final" && item.state !== "failed";
  return item.kind === "text" && answer !== null && item.text.trim() === answer.trim();
}

function keyOf(item: Item, place: number): string {
  if (item.kind === "call") return `call ${item.key.turn}.${item.key.slot}`;
  return item.kind === "note" ? `note ${place}` : `${item.kind} ${item.turn}`;
}

interface ItemProps {
  item: Item;
  turn: Turn;
  session: Session;
  traceId: string | null;
  isLast: boolean;
}

function ItemView({ item, turn, session, traceId, isLast }: ItemProps) {
  switch (item.kind) {
    case "call":
      return <CallWithAgents call={item} turn={turn} session={session} traceId={traceId} />;
    case "note":
      return <NoteView note={item} />;
    case "reasoning":
      return <Reasoning text={item.text} isGoingOn={isLast && session.state === "running"} />;
    case "text":
      return isLast && session.state === "running" ? (
        <StreamedMarkdown text={item.text} />
      ) : (
        <SaidText text={item.text} />
      );
  }
}

function CallWithAgents({
  call,
  turn,
  session,
  traceId,
}: Omit<ItemProps, "item" | "isLast"> & { call: Call }) {
  const agents = begunBy(turn, session.requestId, call.key);
  return (
    <CallView call={call} requestId={session.requestId} traceId={traceId}>
      {agents.length === 0
        ? null
        : agents.map((each) => (
            <AgentSession key={each.requestId} turn={turn} session={each} traceId={traceId} />
          ))}
    </CallView>
  );
}

/** Open while the agent runs, folded afterwards, since then its answer matters. */
function AgentSession({ turn, session, traceId }: Omit<Props, "answer">) {
  const [chosen, choose] = useState<boolean | null>(null);
  const steps = useId();
  const isOpen = chosen ?? session.state === "running";
  const calls = session.items.filter(
    (item) => item.kind === "call" && item.name !== "final",
  ).length;
  return (
    <div className={styles.agent}>
      <button
        type="button"
        className={styles.toggle}
        aria-expanded={isOpen}
        aria-controls={steps}
        onClick={() => choose(!isOpen)}
      >
        <span aria-hidden="true">{isOpen ? "▾" : "▸"}</span> {visible(session.agent)} agent:{" "}
        {calls === 1 ? "1 call" : `${calls} calls`}
      </button>
      <div id={steps}>
        {isOpen && (
          <>
            <SessionView turn={turn} session={session} traceId={traceId} answer={session.answer} />
            {session.error && (
              <NoteView note={{ kind: "note", level: "error", text: session.error.message }} />
            )}
            {session.answer && (
              <div className={styles.inner}>
                <SaidText text={session.answer} />
              </div>
            )}
          </>
        )}
      </div>
    </div>
  );
}

const SIGNS = { info: "i", warning: "!", error: "✕" } as const;

const NoteView = memo(({ note }: { note: Note }) => (
  <p className={styles.note} data-level={note.level}>
    <span aria-hidden="true">{SIGNS[note.level]}</span>
    <span className="visually-hidden">{note.level}: </span>
    <span>{visible(note.text)}</span>
  </p>
));

function Reasoning({ text, isGoingOn }: { text: string; isGoingOn: boolean }) {
  const [isOpen, open] = useState(false);
  const thoughts = useId();
  return (
    <div>
      <button
        type="button"
        className={styles.toggle}
        aria-expanded={isOpen}
        aria-controls={thoughts}
        onClick={() => open(!isOpen)}
      >
        <span aria-hidden="true">{isOpen ? "▾" : "▸"}</span> {isGoingOn ? "Thinking…" : "Reasoning"}
      </button>
      <div id={thoughts} className={styles.thoughts}>
        {isOpen && <LongText text={text} first={20_000} />}
      </div>
    </div>
  );
}
