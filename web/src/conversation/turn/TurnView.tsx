// A question with its steps, its answer and its cost, or with the reason why it has no answer.
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Button } from "../../components/Button";
import { CopyButton } from "../../components/CopyButton";
import { LongText } from "../../components/LongText";
import { TextWithSnippets } from "../../components/messages/SnippetView";
import { useElapsed, wholeSeconds } from "../../components/Took";
import { cost, duration, shortCount } from "../../format/numbers";
import { SourceLinks } from "../../sources/SourceLinks";
import { visible } from "../../text/visible";
import type { Outcome } from "./outcome";
import { SaidText } from "./SaidText";
import { SessionView } from "./SessionView";
import styles from "./TurnView.module.css";
import { rootOf, type Turn } from "./turn";

interface Props {
  question: string;
  /** What was sent to the model together with the question. */
  context?: string;
  turn: Turn;
  outcome: Outcome;
  onAskAgain: (() => void) | null;
  onStop: (() => void) | null;
  /** Shows what the called agents did, if only the outline is shown. */
  onAllSteps?: () => void;
  /** Shown at the end of the last line. */
  footer?: ReactNode;
}

export function TurnView(props: Props) {
  const { question, context, turn, outcome, onAskAgain, onStop, onAllSteps, footer } = props;
  const root = rootOf(turn);
  const answer = outcome.answer;
  return (
    <article className={styles.turn} aria-label={`Turn: ${question.slice(0, 80)}`}>
      <div className={styles.question}>
        <LongText text={question} first={1_500} />
        {context && (
          <details className={styles.context}>
            <summary>Context sent with the question</summary>
            <TextWithSnippets text={context} />
          </details>
        )}
      </div>
      {root && <SessionView turn={turn} session={root} traceId={outcome.traceId} answer={answer} />}
      {outcome.state === "running" && (
        <Working since={root?.startedAt ?? null} isQueued={turn.isQueued} onStop={onStop} />
      )}
      {answer && (
        <div className={styles.answer} data-answer>
          <SaidText text={answer} />
        </div>
      )}
      <SourceLinks sources={outcome.sources} />
      {outcome.trouble && <Trouble outcome={outcome} onAskAgain={onAskAgain} />}
      {outcome.state !== "running" && (
        <footer className={styles.footer}>
          <Spent outcome={outcome} />
          {outcome.traceId && (
            <Link to="/traces/$traceId" params={{ traceId: outcome.traceId }}>
              Trace
            </Link>
          )}
          {onAllSteps && (
            <Button kind="quiet" small onPress={onAllSteps}>
              All steps
            </Button>
          )}
          {answer && <CopyButton text={answer} label="Copy the answer" />}
          {footer}
        </footer>
      )}
    </article>
  );
}

function Working({
  since,
  isQueued,
  onStop,
}: {
  since: number | null;
  isQueued: boolean;
  onStop: (() => void) | null;
}) {
  const seconds = useElapsed(since);
  return (
    <div className={styles.working}>
      <span className={styles.pulse} aria-hidden="true" />
      <span>
        {isQueued ? "Queued" : "Working"}…{seconds ? ` ${wholeSeconds(seconds)}` : ""}
      </span>
      {onStop && (
        <Button small onPress={onStop} keys="Escape">
          Stop
        </Button>
      )}
    </div>
  );
}

function Trouble({ outcome, onAskAgain }: { outcome: Outcome; onAskAgain: (() => void) | null }) {
  const { trouble } = outcome;
  if (!trouble) return null;
  return (
    <div className={styles.trouble} data-kind={trouble.kind}>
      <strong>
        <span aria-hidden="true">{trouble.kind === "bad" ? "⚠ " : "⊘ "}</span>
        {trouble.title}
      </strong>
      {trouble.why && <p>{visible(trouble.why)}</p>}
      {trouble.hint && <p className={styles.hint}>{visible(trouble.hint)}</p>}
      {onAskAgain && (
        <Button small onPress={onAskAgain}>
          Ask again
        </Button>
      )}
    </div>
  );
}

function Spent({ outcome }: { outcome: Outcome }) {
  const parts: ReactNode[] = [];
  if (outcome.input !== null || outcome.output !== null) {
    const title = `${outcome.input ?? "?"} tokens in, ${outcome.output ?? "?"} out`;
    parts.push(
      <span key="tokens" title={title}>
        {shortCount(outcome.input)} in, {shortCount(outcome.output)} out
      </span>,
    );
  }
  if (outcome.cost !== null) parts.push(<span key="cost">{cost(outcome.cost)}</span>);
  if (outcome.duration !== null) {
    parts.push(<span key="time">{duration(Math.round(outcome.duration * 1e6))}</span>);
  }
  if (outcome.model) parts.push(<span key="model">{visible(outcome.model)}</span>);
  return <>{parts}</>;
}
