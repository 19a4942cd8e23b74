// A turn as it is saved: its messages, how it ended, what it cost, and the ways to branch.
import { Link } from "@tanstack/react-router";
import { memo, useMemo } from "react";
import type { Run } from "../../api/schema";
import { Menu } from "../../components/Menu";
import { Messages } from "../../components/messages/Messages";
import { type SessionMessage, sessionMessage } from "../../components/messages/session";
import { cost, duration } from "../../format/numbers";
import { exactMoment, moment } from "../../format/times";
import type { SavedTurn } from "./branches";
import { Forks } from "./Forks";
import styles from "./Sessions.module.css";
import { StopBadge } from "./StopBadge";

interface Props {
  turn: SavedTurn;
  /** As what it is recorded, where that is known. */
  run: Run | null;
  isLast: boolean;
  /** Null while that cannot be done. */
  onBranch: ((at: number, told: string) => void) | null;
}

export const SavedTurnView = memo(({ turn, run, isLast, onBranch }: Props) => {
  const messages = useMemo(
    () => turn.messages.map((message) => sessionMessage(message as SessionMessage)),
    [turn.messages],
  );
  const { question, before, end, others } = turn;
  const words = question?.text.slice(0, 60) ?? "";
  const ways = [
    ...(isLast
      ? []
      : [
          {
            id: "after",
            name: "Go on from here",
            run: () => onBranch?.(end, "The next message goes on from here."),
          },
        ]),
    ...(before === null
      ? []
      : [
          {
            id: "before",
            name: "Ask something else instead",
            run: () => onBranch?.(before, "The next message stands in the place of that one."),
          },
        ]),
  ].map((way) => ({ ...way, isDisabled: onBranch === null }));
  return (
    <article className={styles.turn} aria-label={`Turn: ${words}`}>
      <Forks
        forks={others}
        label="Other branches here"
        onChoose={(fork) => onBranch?.(fork.end, "This is that branch.")}
        isDisabled={onBranch === null}
      />
      <Messages messages={messages} label={words ? `Messages: ${words}` : "Messages"} isMarkdown />
      <footer className={styles.footer}>
        {question && question.stop_reason !== "completed" && (
          <StopBadge reason={question.stop_reason} />
        )}
        {question && <time title={exactMoment(question.at_us)}>{moment(question.at_us)}</time>}
        {run && (
          <>
            <span>{duration(run.duration_us)}</span>
            {run.sums.cost !== null && <span>{cost(run.sums.cost)}</span>}
            <Link to="/traces/$traceId" params={{ traceId: run.trace_id }}>
              Trace
            </Link>
          </>
        )}
        {ways.length > 0 && <Menu label="Branch" aria-label="Branch at this turn" actions={ways} />}
      </footer>
    </article>
  );
});
