// Two panels with a movable divider, also by keyboard.
import { type KeyboardEvent, type PointerEvent, type ReactNode, useRef, useState } from "react";
import styles from "./Split.module.css";

const LEAST = 25;
const MOST = 80;
const STEP = 2;

interface Props {
  /** The browser stores the position under this name. */
  name: string;
  label: string;
  first: ReactNode;
  second: ReactNode;
  /** The initial width of the first panel in percent. */
  share?: number;
}

export function Split({ name, label, first, second, share: initial = 62 }: Props) {
  const [share, setShare] = useState(() => kept(name) ?? initial);
  const whole = useRef<HTMLDivElement>(null);
  const move = (wanted: number) => {
    const next = Math.min(Math.max(Math.round(wanted), LEAST), MOST);
    setShare(next);
    localStorage.setItem(keyOf(name), String(next));
  };
  const press = (event: KeyboardEvent) => {
    const to = {
      ArrowLeft: share - STEP,
      ArrowRight: share + STEP,
      Home: LEAST,
      End: MOST,
      Enter: initial,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    move(to);
  };
  const drag = (event: PointerEvent) => {
    if (!event.currentTarget.hasPointerCapture(event.pointerId) || !whole.current) return;
    const { left, width } = whole.current.getBoundingClientRect();
    move(((event.clientX - left) / width) * 100);
  };
  return (
    <div className={styles.split} ref={whole} style={{ gridTemplateColumns: columns(share) }}>
      <div className={styles.part}>{first}</div>
      {/* biome-ignore lint/a11y/useSemanticElements: a movable divider is not an hr */}
      <div
        className={styles.line}
        role="separator"
        aria-orientation="vertical"
        aria-label={label}
        aria-valuenow={share}
        aria-valuemin={LEAST}
        aria-valuemax={MOST}
        tabIndex={0}
        onKeyDown={press}
        onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
        onPointerMove={drag}
        onDoubleClick={() => move(initial)}
      />
      <div className={styles.part}>{second}</div>
    </div>
  );
}

const columns = (share: number): string => `minmax(0, ${share}fr) auto minmax(0, ${100 - share}fr)`;

const keyOf = (name: string): string => `treadle.split.${name}`;

function kept(name: string): number | null {
  const value = Number(localStorage.getItem(keyOf(name)) ?? Number.NaN);
  return value >= LEAST && value <= MOST ? value : null;
}
