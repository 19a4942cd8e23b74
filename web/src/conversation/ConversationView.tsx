// A conversation that scrolls: its turns, the message that is being sent, and the field below.
import { type ReactNode, useCallback, useEffect, useRef, useState } from "react";
import { Button } from "../components/Button";
import { useShortcut } from "../shortcuts/ShortcutProvider";
import { visible } from "../text/visible";
import styles from "./ConversationView.module.css";
import type { Ended } from "./LiveTurnView";
import { useStickToEnd } from "./useStickToEnd";

interface Props {
  /** The turns, oldest first, and notices about them. */
  children: ReactNode;
  /** The message that the server has not accepted yet. */
  pending: string | null;
  /** The group in the list of shortcuts. */
  where: string;
  /** Stops the running turn; null while none runs. */
  stop: (() => void) | null;
  /** What screen readers hear: the newest answer. */
  spoken: string;
  field: ReactNode;
}

export function ConversationView({ children, pending, where, stop, spoken, field }: Props) {
  const box = useRef<HTMLElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const { isAtEnd, toEnd } = useStickToEnd(box, content);
  const [hasFocus, setFocus] = useState(false);
  useShortcut(
    { keys: "Escape", does: "Stop the answer", where, inFields: true },
    () => stop?.(),
    hasFocus && stop !== null,
  );
  useEffect(() => {
    if (pending !== null) toEnd();
  }, [pending, toEnd]);
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
          {children}
          {pending !== null && <p className={styles.pending}>{visible(pending)}</p>}
        </div>
      </section>
      {!isAtEnd && (
        <div className={styles.jump}>
          <Button small onPress={toEnd}>
            Go to the end ↓
          </Button>
        </div>
      )}
      <div role="log" aria-live="polite" aria-label="Answers" className="visually-hidden">
        {spoken}
      </div>
      {field}
    </div>
  );
}

/** The running turns, oldest first: the first one runs, those behind it wait. */
export function useRunningTurns() {
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
  const [current = null] = stops.keys();
  return { note, current, stop: current === null ? null : (stops.get(current) ?? null) };
}

const MOST_SPOKEN = 1_000;

/** The text for screen readers: each answer once, when its turn ends. */
export function useSpokenAnswer() {
  const ended = useRef(new Set<string>());
  const [spoken, speak] = useState("");
  const note = useCallback(({ requestId, state, answer }: Ended) => {
    if (ended.current.has(requestId)) return;
    ended.current.add(requestId);
    speak(answer ? `Answer: ${answer.slice(0, MOST_SPOKEN)}` : `No answer: ${state}.`);
  }, []);
  return { spoken, note };
}
