// The table of all lists: virtual, sorted by the server, used by keyboard and pointer. On a narrow
// page a row has two lines.

import { type LinkProps, useRouter } from "@tanstack/react-router";
import type { RowData } from "@tanstack/react-table";
import {
  type CSSProperties,
  type ReactNode,
  useEffect,
  useId,
  useMemo,
  useRef,
  useState,
} from "react";
import { ErrorNotice, Loading } from "../States";
import { type Column, fittingColumns, tracksOf, type Widths } from "./columns";
import styles from "./DataTable.module.css";
import type { AnySort } from "./listSearch";
import { NewRows } from "./NewRows";
import type { RowSelection } from "./rowSelection";
import { type Rows, TableBody } from "./TableBody";
import { TableFoot } from "./TableFoot";
import { TableHead } from "./TableHead";
import { useColumnWidths } from "./useColumnWidths";
import { useListWidth } from "./useIsNarrow";
import { usePutIn } from "./usePutIn";
import type { RowList } from "./useRowList";
import { useSelectionKeys } from "./useSelectionKeys";
import { useTableKeys } from "./useTableKeys";
import { type Order, useTableModel } from "./useTableModel";

export interface TableProps<Row extends RowData> {
  /** The kind of the rows: "threads". */
  what: string;
  /** All columns; a constant. */
  columns: readonly Column<Row>[];
  /** The shown columns (`useTableSearch`). */
  shown: readonly Column<Row>[];
  /** Whether a person chose these columns. The list then scrolls if they do not fit. */
  areChosen?: boolean;
  list: RowList<Row>;
  /** A constant. */
  idOf: (row: Row) => string;
  linkOf: (row: Row) => LinkProps;
  order: Order<AnySort>;
  /** None: the order is fixed. */
  onOrder?: (order: Order<AnySort>) => void;
  /** The row that is shown next to the list. */
  peeked?: string | undefined;
  onPeek?: (id: string | undefined) => void;
  /** None: the rows cannot be selected. */
  selection?: RowSelection;
  /** The actions on the selected rows, below the rows. */
  actions?: ReactNode;
  /** Shown instead of the rows if there are none. */
  empty: ReactNode;
}

export function DataTable<Row extends RowData>(props: TableProps<Row>) {
  const { what, list } = props;
  if (list.state === "loading") return <Loading what={what} lines={12} />;
  if (list.state === "failed") {
    const failed = `The ${what} could not be read`;
    return <ErrorNotice what={failed} error={list.error} onRetry={list.retry} />;
  }
  return list.rows.length === 0 ? <Empty {...props} /> : <Grid {...props} />;
}

function Empty<Row extends RowData>({ list, empty }: TableProps<Row>) {
  const { added } = list.waiting;
  useEffect(() => {
    if (added > 0) list.putIn();
  });
  return empty;
}

function Grid<Row extends RowData>(props: TableProps<Row>) {
  const { what, columns, list, idOf, linkOf, order, peeked, onPeek, selection } = props;
  const { onOrder = () => {} } = props;
  const router = useRouter();
  const grid = useRef<HTMLDivElement>(null);
  const body = useRef<Rows>(null);
  const { isNarrow, width } = useListWidth(grid);
  const [widths, setWidths] = useColumnWidths(what);
  const shown = useShown(props, isNarrow ? null : width, widths);
  const { isHeld, settle, putIn } = usePutIn(grid, list);
  const table = useTableModel({ columns, shown, rows: list.rows, idOf, order, onOrder });
  const [activeId, setActiveId] = useState<string | null>(peeked ?? null);
  const active = useMemo(
    () => (activeId === null ? -1 : list.rows.findIndex((row) => idOf(row) === activeId)),
    [activeId, list.rows, idOf],
  );
  const go = (place: number) => {
    const row = list.rows[place];
    if (row === undefined) return;
    setActiveId(idOf(row));
    if (peeked !== undefined) onPeek?.(idOf(row));
    body.current?.show(place);
  };
  useSelectionKeys({
    grid,
    what,
    selection,
    active: activeId,
    move: (by) => {
      const row = list.rows[active + by];
      if (row !== undefined) go(active + by);
      return row === undefined ? null : idOf(row);
    },
  });
  useTableKeys({
    grid,
    what,
    count: list.rows.length,
    place: active,
    inView: () => body.current?.inView() ?? 1,
    go,
    open: () => {
      const row = list.rows[active];
      if (row !== undefined) void router.navigate(linkOf(row) as never);
    },
    ...(onPeek
      ? { peek: () => onPeek(activeId === peeked ? undefined : (activeId ?? undefined)) }
      : {}),
  });
  const isEmpty = list.rows.length === 0;
  useEffect(() => {
    // A new query has other rows: the focus stays on one of them.
    if (active < 0 && !isEmpty && document.activeElement === grid.current) go(0);
  });
  const prefix = useId();
  const elementId = (place: number) => `${prefix}row${place}`;
  const { tracks, least } = tracksOf(shown, widths);
  const before = selection ? `${CHECKBOX_REM}rem ` : "";
  const total = least + (selection ? CHECKBOX_REM : 0);
  return (
    <div className={styles.table}>
      <div
        ref={grid}
        role="grid"
        tabIndex={0}
        className={styles.grid}
        aria-label={what}
        aria-rowcount={list.total === null ? -1 : list.total + 1}
        aria-activedescendant={active < 0 ? undefined : elementId(active)}
        aria-busy={list.isOld}
        aria-multiselectable={selection !== undefined}
        data-narrow={isNarrow}
        data-selectable={selection !== undefined}
        style={{ "--tracks": before + tracks, "--least": `${total}rem` } as CSSProperties}
        onScroll={settle}
        onPointerLeave={settle}
        onBlur={settle}
        onFocus={(event) => {
          if (event.target === grid.current && active < 0) go(0);
        }}
      >
        <TableHead
          table={table}
          widths={widths}
          onWidths={setWidths}
          what={what}
          selection={selection}
        />
        <TableBody
          ref={body}
          table={table}
          list={list}
          grid={grid}
          active={active}
          isNarrow={isNarrow}
          peeked={peeked}
          selection={selection}
          linkOf={linkOf}
          elementId={elementId}
          onChoose={(row) => setActiveId(idOf(row))}
          onPeek={onPeek && ((row) => onPeek(idOf(row)))}
        />
      </div>
      {props.actions}
      <TableFoot
        {...{ what, list, columns, order, onOrder, isNarrow }}
        leftOut={props.shown.filter((column) => !shown.includes(column))}
      >
        <NewRows what={what} waiting={list.waiting} isHeld={isHeld} onPutIn={putIn} />
      </TableFoot>
    </div>
  );
}

const PADDING_REM = 1;
const CHECKBOX_REM = 2;

/** The shown columns, or those that fit. All chosen columns are shown if no panel is open. */
function useShown<Row extends RowData>(
  { shown, areChosen = false, peeked, order, selection }: TableProps<Row>,
  width: number | null,
  widths: Widths,
): readonly Column<Row>[] {
  const mustFit = width !== null && (peeked !== undefined || !areChosen);
  const isSelectable = selection !== undefined;
  return useMemo(() => {
    if (!mustFit) return shown;
    const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize) || 16;
    const taken = PADDING_REM + (isSelectable ? CHECKBOX_REM : 0);
    return fittingColumns(shown, width / rem - taken, order.sort, widths);
  }, [shown, mustFit, isSelectable, width, order.sort, widths]);
}
