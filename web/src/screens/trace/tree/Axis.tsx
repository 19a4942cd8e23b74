// The head of the time axis: the whole trace in small, the part of it that is shown, and its ticks.
// Dragging selects a part; the keys and buttons that do the same are in the toolbar.
import {
  type PointerEvent,
  type RefObject,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { duration } from "../../../format/numbers";
import { drawOverview } from "../model/overview";
import type { Tree } from "../model/tree";
import { between, ticks, WHOLE, type Zoom } from "../model/zoom";
import styles from "./Axis.module.css";

const TICK_PX = 80;
const LABEL_PX = 56; // no tick stands nearer to the end, since its label would be cut
const REST_MS = 30; // the rows are seen first
const CLICK_SHARE = 0.004; // a shorter drag is a click

interface Props {
  tree: Tree;
  zoom: Zoom;
  onZoom: (zoom: Zoom) => void;
  active: number;
}

export function Axis({ tree, zoom, onZoom, active }: Props) {
  const cell = useRef<HTMLDivElement>(null);
  const width = useWidth(cell);
  const from = zoom.from * tree.total;
  const to = zoom.to * tree.total;
  const whole = useDrag(WHOLE, onZoom);
  const shown = useDrag(zoom, onZoom);
  return (
    <div role="columnheader" className={styles.axis} ref={cell}>
      <span className="visually-hidden">
        Time, from {duration(from)} to {duration(to)}
      </span>
      <div className={styles.overview} {...whole.handlers} aria-hidden="true">
        <Overview tree={tree} width={width} active={active} />
        <div
          className={styles.window}
          style={{ left: `${zoom.from * 100}%`, width: `${(zoom.to - zoom.from) * 100}%` }}
        />
        <Dragged drag={whole.drag} within={WHOLE} />
      </div>
      <div className={styles.ticks} {...shown.handlers} aria-hidden="true">
        {ticks(from, to - ((to - from) * LABEL_PX) / width, width / TICK_PX).map((tick) => (
          <span
            key={tick}
            className={styles.tick}
            style={{ left: `${((tick - from) / (to - from)) * 100}%` }}
          >
            {tick === 0 ? "0" : duration(tick)}
          </span>
        ))}
        <Dragged drag={shown.drag} within={zoom} />
      </div>
    </div>
  );
}

interface Drag {
  from: number;
  to: number;
}

/** What is dragged over is zoomed to; a double click shows the whole again. */
function useDrag(within: Zoom, onZoom: (zoom: Zoom) => void) {
  const [drag, setDrag] = useState<Drag | null>(null);
  const at = (event: PointerEvent) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    const share = Math.min(Math.max((event.clientX - left) / width, 0), 1);
    return within.from + share * (within.to - within.from);
  };
  const handlers = {
    onPointerDown: (event: PointerEvent) => {
      if (event.button !== 0) return;
      event.currentTarget.setPointerCapture(event.pointerId);
      setDrag({ from: at(event), to: at(event) });
    },
    onPointerMove: (event: PointerEvent) => {
      if (drag) setDrag({ ...drag, to: at(event) });
    },
    onPointerUp: () => {
      if (drag && isDrag(drag, within)) onZoom(between(drag.from, drag.to));
      setDrag(null);
    },
    onPointerCancel: () => setDrag(null),
    onDoubleClick: () => onZoom(WHOLE),
  };
  return { drag, handlers };
}

function isDrag(drag: Drag, within: Zoom): boolean {
  return Math.abs(drag.to - drag.from) > CLICK_SHARE * (within.to - within.from);
}

function Dragged({ drag, within }: { drag: Drag | null; within: Zoom }) {
  if (!drag || !isDrag(drag, within)) return null;
  const scale = 100 / (within.to - within.from);
  const left = (Math.min(drag.from, drag.to) - within.from) * scale;
  return (
    <div
      className={styles.dragged}
      style={{ left: `${left}%`, width: `${Math.abs(drag.to - drag.from) * scale}%` }}
    />
  );
}

function Overview({ tree, width, active }: { tree: Tree; width: number; active: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const element = canvas.current;
    if (!element || width === 0) return;
    const draw = () => drawOverview(element, tree);
    const timer = setTimeout(draw, REST_MS);
    // The colours are those of the theme.
    const watcher = new MutationObserver(draw);
    watcher.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    return () => {
      clearTimeout(timer);
      watcher.disconnect();
    };
  }, [tree, width]);
  const start = active < 0 ? null : (tree.starts[active] ?? 0) / tree.total;
  return (
    <>
      <canvas ref={canvas} className={styles.canvas} />
      {start !== null && <div className={styles.active} style={{ left: `${start * 100}%` }} />}
    </>
  );
}

function useWidth(element: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const current = element.current;
    if (!current) return;
    const watcher = new ResizeObserver(() => setWidth(current.clientWidth));
    watcher.observe(current);
    return () => watcher.disconnect();
  }, [element]);
  return width;
}
