// The messages of a thread, run by run, newest at the bottom; earlier runs on request.
import { Link, useSearch } from "@tanstack/react-router";
import { useEffect, useLayoutEffect, useRef } from "react";
import type { RunSummary } from "../../api/schema";
import { StatusBadge } from "../../components/Badge";
import { Button } from "../../components/Button";
import { Messages } from "../../components/messages/Messages";
import { ErrorNotice, Loading } from "../../components/States";
import { TotalCost } from "../../components/TotalCost";
import type { RowList } from "../../components/table/useRowList";
import { count, duration, shortCount } from "../../format/numbers";
import { exactMoment, moment } from "../../format/times";
import { visible } from "../../text/visible";
import { tokensOf } from "./rows";
import styles from "./ThreadScreen.module.css";
import { type Turn, useConversation } from "./useConversation";

export function Conversation({ runs }: { runs: RowList<RunSummary> }) {
  const turns = useConversation(runs.rows, runs.hasMore);
  const { run: chosen } = useSearch({ from: "/threads/$threadId" });
  const scroller = useRef<HTMLElement>(null);
  useStayAtEnd(scroller, turns, chosen);
  const left = (runs.total ?? 0) - turns.length;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard
    <section ref={scroller} className={styles.conversation} aria-label="Conversation" tabIndex={0}>
      {runs.hasMore && (
        <Button small isPending={runs.isLoadingMore} onPress={runs.loadMore}>
          Show earlier runs{left > 0 ? ` (${count(left)} more)` : ""}
        </Button>
      )}
      {turns.map((turn) => (
        <TurnView key={turn.run.run_id} turn={turn} isChosen={turn.run.run_id === chosen} />
      ))}
    </section>
  );
}

function TurnView({ turn, isChosen }: { turn: Turn; isChosen: boolean }) {
  const { run, messages, said, error, retry } = turn;
  const section = useRef<HTMLElement>(null);
  useEffect(() => {
    if (isChosen) section.current?.scrollIntoView({ block: "start" });
  }, [isChosen]);
  const when = moment(run.start_us);
  return (
    <section
      ref={section}
      className={styles.turn}
      data-chosen={isChosen}
      aria-label={`Run of ${when}`}
    >
      <header className={styles.turnHeader}>
        <h2>
          <time dateTime={exactMoment(run.start_us)}>{when}</time>
        </h2>
        <StatusBadge status={run.status} lastUs={run.last_us} quiet />
        <span>{duration(run.duration_us)}</span>
        {tokensOf(run.sums) !== null && <span>{shortCount(tokensOf(run.sums))} tokens</span>}
        {run.sums.cost !== null && <TotalCost sums={run.sums} />}
        <Link to="/traces/$traceId" params={{ traceId: run.trace_id }}>
          Trace
        </Link>
      </header>
      {messages ? (
        <Messages messages={messages} label={`Messages of the run of ${when}`} />
      ) : error ? (
        <ErrorNotice what="The messages could not be read" error={error} onRetry={retry} />
      ) : (
        <Loading what="the messages" lines={3} />
      )}
      {said?.error && (
        <p className={styles.failure}>
          <span aria-hidden="true">✕ </span>
          {visible(said.error.slice(0, 2_000))}
        </p>
      )}
      {said?.left && <p className={styles.left}>{said.left}</p>}
    </section>
  );
}

const NEAR_PX = 40;

/** Starts at the newest message, and stays there unless a person scrolls away. */
function useStayAtEnd(
  scroller: React.RefObject<HTMLElement | null>,
  turns: readonly Turn[],
  chosen: string | undefined,
): void {
  const isAtEnd = useRef(true);
  useEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const look = () => {
      const below = element.scrollHeight - element.clientHeight - element.scrollTop;
      isAtEnd.current = below < NEAR_PX;
    };
    element.addEventListener("scroll", look, { passive: true });
    return () => element.removeEventListener("scroll", look);
  }, [scroller]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each turn makes the content higher
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element || chosen || !isAtEnd.current || element.matches(":hover")) return;
    element.scrollTop = element.scrollHeight;
  }, [scroller, turns, chosen]);
}
