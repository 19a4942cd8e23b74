// The spans of a trace as a tree with their bars on one time axis. Only visible rows are rendered.
import { defaultRangeExtractor, useVirtualizer } from "@tanstack/react-virtual";
import {
  type MouseEvent,
  type RefObject,
  useCallback,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { type Rows, shownPlace } from "../model/rows";
import { placeOf, type Tree as TreeModel } from "../model/tree";
import type { OpenTrace } from "../useOpenTrace";
import { Axis } from "./Axis";
import { Row } from "./Row";
import styles from "./Tree.module.css";
import { useTreeKeys } from "./useTreeKeys";

const ROW_PX = 28;
const HEAD_PX = 48;

interface Props
  extends Pick<
    OpenTrace,
    "rows" | "collapsed" | "active" | "found" | "critical" | "slowest" | "zoom" | "onZoom"
  > {
  tree: TreeModel;
  onChoose: (place: number) => void;
  onCollapse: (places: readonly number[], collapsed: boolean) => void;
  /** Enter: the person wants to read the selected span. */
  onOpen: () => void;
}

export function Tree(props: Props) {
  const { tree, rows, collapsed, active, critical } = props;
  const grid = useRef<HTMLDivElement>(null);
  const base = useId();
  const rowId = (place: number) => `${base}-${place}`;
  const activeRow = rows.rowOf[active] ?? -1;
  const { items, height, keyOf } = useRowsInView(grid, props);
  const width = useWidthClass(grid);
  const keys = useTreeKeys({ ...props, page: () => pageOf(grid.current) });
  const click = useClick(props);
  return (
    <div
      ref={grid}
      className={styles.grid}
      role="treegrid"
      aria-label="Spans"
      aria-rowcount={rows.places.length + 1}
      aria-colcount={width === "wide" ? 5 : 3}
      data-width={width}
      aria-activedescendant={activeRow >= 0 ? rowId(active) : undefined}
      tabIndex={0}
      onKeyDown={keys}
      onClick={click}
      onDoubleClick={(event) => placeAt(event) >= 0 && props.onOpen()}
    >
      <Head {...props} isWide={width === "wide"} />
      <div role="rowgroup" className={styles.body} style={{ height }}>
        {items.map((item) => {
          const place = rows.places[item.index] ?? -1;
          return (
            <Row
              key={keyOf(item.index)}
              tree={tree}
              place={place}
              row={item.index}
              top={item.start - HEAD_PX}
              id={rowId(place)}
              isActive={place === active}
              isCollapsed={collapsed[place] === 1}
              isFound={props.found.isFound.has(place)}
              isCritical={critical?.[place] === 1}
              slow={props.slowest.get(place) ?? 0}
              zoom={props.zoom}
              isWide={width === "wide"}
            />
          );
        })}
      </div>
    </div>
  );
}

function Head({ tree, zoom, onZoom, active, isWide }: Props & { isWide: boolean }) {
  return (
    <div role="rowgroup" className={styles.head}>
      <div role="row" className={styles.titles} aria-rowindex={1}>
        <div role="columnheader" className={styles.name}>
          Span
        </div>
        <Axis tree={tree} zoom={zoom} onZoom={onZoom} active={active} />
        <div role="columnheader" className={styles.number}>
          Duration
        </div>
        {isWide && (
          <>
            <div role="columnheader" className={styles.tokens}>
              Tokens
            </div>
            <div role="columnheader" className={styles.cost}>
              Cost
            </div>
          </>
        )}
      </div>
    </div>
  );
}

/** The rows in view and a few around them, and the code that keeps the scroll position. */
function useRowsInView(grid: RefObject<HTMLElement | null>, { tree, rows, active }: Props) {
  const activeRow = rows.rowOf[active] ?? -1;
  const virtual = useVirtualizer({
    count: rows.places.length,
    getScrollElement: () => grid.current,
    estimateSize: () => ROW_PX,
    overscan: 6,
    scrollPaddingStart: HEAD_PX,
    scrollMargin: HEAD_PX,
    // The active row is always rendered: the grid names it as the focused one.
    rangeExtractor: (range) => withActive(defaultRangeExtractor(range), activeRow),
  });
  // Once per selection: rows that arrive above must not scroll back to it.
  const broughtIn = useRef<string>(undefined);
  const activeId = tree.ids[active];
  useStillTop(grid, tree, rows);
  useLayoutEffect(() => {
    if (activeRow < 0 || broughtIn.current === activeId) return;
    broughtIn.current = activeId;
    virtual.scrollToIndex(activeRow, { align: "auto" });
  }, [virtual, activeRow, activeId]);
  const items = virtual.getVirtualItems();
  const keyOf = slotKeys(items.length, activeRow);
  return { items, height: virtual.getTotalSize(), keyOf };
}

/**
 * Rows that leave the view on one side are reused for those that enter on the other, so keys
 * rotate. The active row, which may be far away, has its own key.
 */
function slotKeys(shown: number, active: number): (row: number) => number | string {
  let slots = 32;
  while (slots < shown) slots *= 2;
  return (row) => (row === active ? "active" : row % slots);
}

const WIDE_PX = 680;
const NARROW_PX = 448;

/** The available width for columns. */
function useWidthClass(grid: RefObject<HTMLElement | null>): "wide" | "middle" | "narrow" {
  const [width, setWidth] = useState<"wide" | "middle" | "narrow">("middle");
  useLayoutEffect(() => {
    const element = grid.current;
    if (!element) return;
    const watcher = new ResizeObserver(() => {
      const { clientWidth } = element;
      setWidth(clientWidth >= WIDE_PX ? "wide" : clientWidth >= NARROW_PX ? "middle" : "narrow");
    });
    watcher.observe(element);
    return () => watcher.disconnect();
  }, [grid]);
  return width;
}

function withActive(range: number[], active: number): number[] {
  if (active < 0 || range.includes(active)) return range;
  return [...range, active].sort((one, other) => one - other);
}

/** The top of the view stays in place when rows above it are added or removed. */
function useStillTop(grid: RefObject<HTMLElement | null>, tree: TreeModel, rows: Rows): void {
  const top = useRef<{ tree: TreeModel; rows: Rows }>({ tree, rows });
  useLayoutEffect(() => {
    const before = top.current;
    top.current = { tree, rows };
    const element = grid.current;
    if (!element || before.rows === rows || element.scrollTop === 0) return;
    const first = Math.floor(element.scrollTop / ROW_PX);
    const id = before.tree.ids[before.rows.places[first] ?? -1];
    const now = rows.rowOf[shownPlace(tree, rows, placeOf(tree, id))] ?? -1;
    if (now >= 0 && now !== first) element.scrollTop += (now - first) * ROW_PX;
  }, [grid, tree, rows]);
}

function useClick({ onChoose, onCollapse, collapsed }: Props) {
  return useCallback(
    (event: MouseEvent) => {
      const place = placeAt(event);
      if (place < 0) return;
      if ((event.target as HTMLElement).closest("[data-toggle]")) {
        onCollapse([place], collapsed[place] !== 1);
      } else {
        onChoose(place);
      }
    },
    [onChoose, onCollapse, collapsed],
  );
}

function placeAt(event: MouseEvent): number {
  const row = (event.target as HTMLElement).closest<HTMLElement>("[data-place]");
  return row ? Number(row.dataset.place) : -1;
}

/** The number of rows that fit in the view. */
function pageOf(grid: HTMLElement | null): number {
  return Math.max(1, Math.floor(((grid?.clientHeight ?? 0) - HEAD_PX) / ROW_PX) - 1);
}
