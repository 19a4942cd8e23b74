// The right edge of a header: drag it, or use the arrow keys, to change the width of the column. A
// double click restores the width.
import type { KeyboardEvent, PointerEvent } from "react";
import styles from "./DataTable.module.css";

interface Props {
  name: string;
  /** The chosen width in rem; undefined for the default. */
  width: number | undefined;
  onWidth: (width: number | undefined) => void;
}

const LEAST = 3;
const MOST = 60;

export function ColumnEdge({ name, width, onWidth }: Props) {
  const change = (wanted: number) => onWidth(Math.min(MOST, Math.max(LEAST, wanted)));
  const drag = (event: PointerEvent<HTMLElement>) => {
    const edge = event.currentTarget;
    edge.setPointerCapture(event.pointerId);
    const [from, before] = [event.clientX, widthOf(edge)];
    edge.onpointermove = (moved) => change(before + (moved.clientX - from) / remPx());
    edge.onpointerup = () => {
      edge.onpointermove = null;
    };
  };
  const step = (event: KeyboardEvent<HTMLElement>) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    change(widthOf(event.currentTarget) + by);
  };
  return (
    <span
      role="separator"
      tabIndex={0}
      aria-orientation="vertical"
      aria-label={`Width of ${name}`}
      aria-valuenow={Math.round(width ?? 0)}
      aria-valuemin={0}
      aria-valuemax={MOST}
      className={styles.edge}
      onPointerDown={drag}
      onKeyDown={step}
      onDoubleClick={() => onWidth(undefined)}
    />
  );
}

function widthOf(edge: HTMLElement): number {
  return (edge.parentElement?.clientWidth ?? 0) / remPx();
}

function remPx(): number {
  return Number.parseFloat(getComputedStyle(document.documentElement).fontSize) || 16;
}
