// The aligned steps: those that differ are open, and equal ones are behind a button.
import { startTransition, useEffect, useMemo, useRef, useState } from "react";
import type { ComparedStep } from "../../api/schema";
import { Button } from "../../components/Button";
import { count, counted } from "../../format/numbers";
import styles from "./Compare.module.css";
import { Step } from "./Step";
import { type Entry, entriesOf } from "./steps";

const AT_ONCE = 15; // more would block the page for a moment

interface Props {
  steps: readonly ComparedStep[];
  areEqualShown: boolean;
}

export function Steps({ steps, areEqualShown }: Props) {
  const entries = useMemo(
    () =>
      areEqualShown
        ? steps.map((step, place): Entry => ({ kind: "step", place, step }))
        : entriesOf(steps),
    [steps, areEqualShown],
  );
  const [most, setMost] = useState(AT_ONCE);
  const more = () => startTransition(() => setMost((now) => now + AT_ONCE));
  const left = entries.length - most;
  return (
    <div>
      <div className={styles.columns} aria-hidden="true">
        <span className={styles.letter}>A</span>
        <span className={styles.letter}>B</span>
      </div>
      <ol className={styles.list} aria-label="Steps">
        {entries.slice(0, most).map((entry) =>
          entry.kind === "step" ? (
            <li key={entry.place}>
              <Step step={entry.step} />
            </li>
          ) : (
            <li key={entry.place}>
              <EqualSteps steps={entry.steps} />
            </li>
          ),
        )}
      </ol>
      {left > 0 && <More left={left} onMore={more} />}
    </div>
  );
}

function EqualSteps({ steps }: { steps: readonly ComparedStep[] }) {
  const [isOpen, setOpen] = useState(false);
  const [most, setMost] = useState(AT_ONCE);
  const left = steps.length - most;
  return (
    <div className={styles.equal}>
      <Button small kind="quiet" aria-expanded={isOpen} onPress={() => setOpen(!isOpen)}>
        <span aria-hidden="true">{isOpen ? "▾" : "▸"}</span> {counted(steps.length, "equal step")}
      </Button>
      {isOpen && (
        <ol className={styles.list}>
          {steps.slice(0, most).map((step, place) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the index identifies a step
            <li key={place}>
              <Step step={step} />
            </li>
          ))}
        </ol>
      )}
      {isOpen && left > 0 && (
        <Button small onPress={() => setMost(most + AT_ONCE)}>
          Show more ({count(left)} left)
        </Button>
      )}
    </div>
  );
}

/** Shows more steps when a person scrolls to it, or presses it. */
function More({ left, onMore }: { left: number; onMore: () => void }) {
  const end = useRef<HTMLDivElement>(null);
  const newest = useRef(onMore);
  useEffect(() => {
    newest.current = onMore;
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: observed again while it stays in view
  useEffect(() => {
    const observer = new IntersectionObserver((seen) => {
      if (seen.some((each) => each.isIntersecting)) newest.current();
    });
    if (end.current) observer.observe(end.current);
    return () => observer.disconnect();
  }, [left]);
  return (
    <div ref={end} className={styles.more}>
      <Button small onPress={onMore}>
        Show more steps ({count(left)} left)
      </Button>
    </div>
  );
}
