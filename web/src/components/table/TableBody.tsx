// The rows in view and a few around them. Scrolling loads more.

import type { LinkProps } from "@tanstack/react-router";
import type { RowData } from "@tanstack/react-table";
import { defaultRangeExtractor, useVirtualizer } from "@tanstack/react-virtual";
import { type Ref, type RefObject, useEffect, useImperativeHandle } from "react";
import styles from "./DataTable.module.css";
import type { RowSelection } from "./rowSelection";
import { TableRow } from "./TableRow";
import type { RowList } from "./useRowList";
import type { Model } from "./useTableModel";

const HEAD_REM = 2;
const ROW_REM = 2.25;
const NARROW_ROW_REM = 3.5;
const AHEAD = 20; // rows before the end at which more are loaded

export interface Rows {
  show: (place: number) => void;
  /** The number of rows that fit. */
  inView: () => number;
}

interface Props<Row extends RowData> {
  table: Model<Row>;
  list: RowList<Row>;
  grid: RefObject<HTMLElement | null>;
  /** The index of the active row; -1 for none. */
  active: number;
  isNarrow: boolean;
  peeked: string | undefined;
  selection: RowSelection | undefined;
  linkOf: (row: Row) => LinkProps;
  elementId: (place: number) => string;
  onChoose: (row: Row) => void;
  onPeek?: ((row: Row) => void) | undefined;
  ref: Ref<Rows>;
}

export function TableBody<Row extends RowData>(props: Props<Row>) {
  const { table, list, grid, active, isNarrow, peeked, selection, ref } = props;
  const rows = table.getRowModel().rows;
  const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize) || 16;
  const head = isNarrow ? 0 : HEAD_REM * rem;
  const height = (isNarrow ? NARROW_ROW_REM : ROW_REM) * rem;
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => grid.current,
    estimateSize: () => height,
    getItemKey: (place) => rows[place]?.id ?? place,
    overscan: 8,
    scrollMargin: head,
    scrollPaddingStart: head,
    // The active row always exists: the grid names it as the focused one.
    rangeExtractor: (range) => {
      const places = defaultRangeExtractor(range);
      return active < 0 || places.includes(active)
        ? places
        : [...places, active].sort((a, b) => a - b);
    },
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the heights changed, so measure again
  useEffect(() => virtual.measure(), [virtual, height]);
  useImperativeHandle(ref, () => ({
    show: (place) => virtual.scrollToIndex(place),
    inView: () => Math.max(1, Math.floor(((grid.current?.clientHeight ?? 0) - head) / height) - 1),
  }));
  const last = virtual.range?.endIndex ?? 0;
  const wantsMore = list.hasMore && !list.isLoadingMore && last >= rows.length - AHEAD;
  const { loadMore } = list;
  useEffect(() => {
    if (wantsMore) loadMore();
  }, [wantsMore, loadMore]);
  return (
    <div role="rowgroup" className={styles.body} style={{ height: virtual.getTotalSize() }}>
      {virtual.getVirtualItems().map((item) => {
        const row = rows[item.index];
        return (
          row && (
            <TableRow
              key={row.id}
              id={props.elementId(item.index)}
              table={table}
              row={row}
              place={item.index}
              top={item.start - head}
              height={height}
              isActive={item.index === active}
              isPeeked={row.id === peeked}
              isSelected={selection?.has(row.id)}
              onSelect={
                selection &&
                ((isExtended) => (isExtended ? selection.extend : selection.toggle)(row.id))
              }
              isNarrow={isNarrow}
              link={props.linkOf(row.original)}
              onChoose={props.onChoose}
              onPeek={props.onPeek}
            />
          )
        );
      })}
    </div>
  );
}
