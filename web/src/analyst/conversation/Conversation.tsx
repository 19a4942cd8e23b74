// A conversation with the analyst: its turns, and the place to ask.
import { useCallback, useEffect, useRef, useState } from "react";
import { Button } from "../../components/Button";
import { EmptyState, ErrorNotice, Loading } from "../../components/States";
import { useShortcut } from "../../shortcuts/ShortcutProvider";
import { suggestionsFor } from "../context";
import { NEW } from "../dock";
import { type Choice, Composer, ORCHESTRATOR } from "./Composer";
import styles from "./Conversation.module.css";
import { type Ended, LiveTurnView } from "./LiveTurnView";
import { SavedTurnView } from "./SavedTurnView";
import { shownOf, useAsk, useConversation } from "./useConversation";
import { useRecordedRuns } from "./useRecordedRuns";
import { useScreenContext } from "./useScreenContext";
import { useStickToEnd } from "./useStickToEnd";

interface Props {
  /** The id of the conversation, or NEW. */
  id: string;
  onBegun: (conversation: string) => void;
}

export function Conversation({ id, onBegun }: Props) {
  const { saved, live, isGone, query } = useConversation(id);
  const screen = useScreenContext();
  const [choice, choose] = useState<Choice>({ agent: ORCHESTRATOR, model: "" });
  const asking = useAsk(id, onBegun);
  const { reset } = asking;
  // biome-ignore lint/correctness/useExhaustiveDependencies: what went wrong in another is not told
  useEffect(reset, [id, reset]);
  const agent = saved?.agent ?? choice.agent;
  const ask = (question: string) => {
    const model = choice.model.trim() || null;
    asking.mutate({ question, agent, model, context: screen.context });
  };
  const shown = shownOf(saved, live);
  const recorded = useRecordedRuns(saved);
  const box = useRef<HTMLElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const { isAtEnd, toEnd } = useStickToEnd(box, content);
  const { note, said } = useSaid();
  const running = useRunning();
  const stop = running.stop;
  const [hasFocus, setFocus] = useState(false);
  useShortcut(
    { keys: "Escape", does: "Stop the answer", where: "Analyst", inFields: true },
    () => stop?.(),
    hasFocus && stop !== null,
  );
  const isEmpty = shown.length === 0 && !asking.isPending && !asking.error;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only notes whether the focus is inside
    <div
      className={styles.conversation}
      onFocus={() => setFocus(true)}
      onBlur={() => setFocus(false)}
    >
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard */}
      <section ref={box} className={styles.box} tabIndex={0} aria-label="Conversation">
        <div ref={content} className={styles.turns}>
          {query.isLoading && <Loading what="the conversation" />}
          {isGone && live.length === 0 && <Gone />}
          {query.error && !isGone && (
            <ErrorNotice
              what="The conversation could not be read"
              error={query.error}
              onRetry={() => void query.refetch()}
            />
          )}
          {isEmpty && !query.isLoading && !query.error && !isGone && (
            <Suggestions questions={suggestionsFor(screen.chips)} onAsk={ask} />
          )}
          {shown.map((each) =>
            each.kind === "live" ? (
              <LiveTurnView
                key={each.turn.requestId}
                live={each.turn}
                exchange={
                  saved?.exchanges.find((one) => one.request_id === each.turn.requestId) ?? null
                }
                agent={agent}
                onAskAgain={ask}
                onRunning={running.note}
                onEnded={note}
              />
            ) : (
              <SavedTurnView
                key={each.exchange.request_id ?? each.exchange.at_us}
                exchange={each.exchange}
                run={recorded.get(each.exchange.trace_id ?? "") ?? null}
                agent={agent}
                onAskAgain={ask}
              />
            ),
          )}
          {asking.isPending && <p className={styles.asking}>{asking.variables.question}</p>}
          {asking.error && (
            <ErrorNotice
              what="The question was not taken"
              error={asking.error}
              onRetry={() => asking.variables && asking.mutate(asking.variables)}
            />
          )}
        </div>
      </section>
      {!isAtEnd && (
        <div className={styles.jump}>
          <Button small onPress={toEnd}>
            To the end ↓
          </Button>
        </div>
      )}
      <div role="log" aria-live="polite" aria-label="Answers" className="visually-hidden">
        {said}
      </div>
      <Composer
        chips={screen.chips}
        onRemove={screen.remove}
        choice={{ ...choice, agent }}
        onChoose={choose}
        isAgentFixed={id !== NEW}
        isBusy={asking.isPending}
        onAsk={(question) => {
          toEnd();
          ask(question);
        }}
      />
    </div>
  );
}

function Gone() {
  return (
    <EmptyState title="This conversation is kept no more.">
      It was deleted. Begin a new one, or choose another.
    </EmptyState>
  );
}

function Suggestions({
  questions,
  onAsk,
}: {
  questions: readonly string[];
  onAsk: (question: string) => void;
}) {
  return (
    <EmptyState title="Ask what happened, and why.">
      <p>Answers come with links to the spans that prove them. For example:</p>
      <ul className={styles.suggestions}>
        {questions.map((question) => (
          <li key={question}>
            <Button onPress={() => onAsk(question)}>{question}</Button>
          </li>
        ))}
      </ul>
    </EmptyState>
  );
}

const MOST_SAID = 1_000;

/** What is said to a screen reader: whole answers that came while the page looked on. */
function useSaid() {
  const watched = useRef(new Set<string>());
  const [said, say] = useState("");
  const note = useCallback(({ requestId, state, answer }: Ended) => {
    if (watched.current.has(requestId)) return;
    watched.current.add(requestId);
    const words = answer ? `Answer: ${answer.slice(0, MOST_SAID)}` : `No answer: ${state}.`;
    say(words);
  }, []);
  return { note, said };
}

/** The turns that run, and the way to stop the newest of them. */
function useRunning() {
  const [stops, setStops] = useState<ReadonlyMap<string, () => void>>(new Map());
  const note = useCallback((requestId: string, stop: (() => void) | null) => {
    setStops((now) => {
      if (!stop && !now.has(requestId)) return now;
      const next = new Map(now);
      if (stop) next.set(requestId, stop);
      else next.delete(requestId);
      return next;
    });
  }, []);
  return { note, stop: [...stops.values()].at(-1) ?? null };
}

/** Put the focus into the field of the question, as the panel opens. */
export function useFocusOnField(): void {
  useEffect(() => {
    document.querySelector<HTMLTextAreaElement>("[data-analyst-field]")?.focus();
  }, []);
}
