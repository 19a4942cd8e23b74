// One row. A click shows it next to the list, or opens it if there is no room, unless the click
// selected text or meant a link or button.

import { Link, type LinkProps, useRouter } from "@tanstack/react-router";
import type { Row as ModelRow, RowData } from "@tanstack/react-table";
import type { MouseEvent } from "react";
import styles from "./DataTable.module.css";
import { RowCheckbox } from "./RowCheckbox";
import type { Features, Model } from "./useTableModel";

interface Props<Row extends RowData> {
  id: string;
  table: Model<Row>;
  row: ModelRow<Features, Row>;
  place: number;
  top: number;
  height: number;
  isActive: boolean;
  isPeeked: boolean;
  /** Undefined: the rows of the list cannot be selected. */
  isSelected: boolean | undefined;
  /** Selects the row or not; with Shift, also the rows up to it. */
  onSelect?: ((isExtended: boolean) => void) | undefined;
  isNarrow: boolean;
  link: LinkProps;
  onChoose: (row: Row) => void;
  /** Shows it next to the list. */
  onPeek?: ((row: Row) => void) | undefined;
}

export function TableRow<Row extends RowData>(props: Props<Row>) {
  const { id, table, row, place, top, height, isActive, isPeeked, isNarrow, link } = props;
  const { isSelected } = props;
  const router = useRouter();
  const open = (event: MouseEvent) => {
    if (!isMeantForTheRow(event)) return;
    props.onChoose(row.original);
    if (event.ctrlKey || event.metaKey) {
      window.open(router.buildLocation(link as never).href, "_blank", "noopener");
    } else if (props.onPeek) props.onPeek(row.original);
    else void router.navigate(link as never);
  };
  const cells = row.getVisibleCells();
  const shown = isNarrow
    ? cells.filter(({ column }) => column.columnDef.meta?.isInNarrow(row.original as never))
    : cells;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Enter on the grid opens the active row
    <div
      id={id}
      role="row"
      aria-rowindex={place + 2}
      aria-selected={isSelected ?? isPeeked}
      aria-current={isPeeked ? "true" : undefined}
      data-active={isActive}
      className={styles.row}
      style={{ height, transform: `translateY(${top}px)` }}
      onClick={open}
    >
      {props.onSelect && (
        <div role="gridcell" aria-colindex={1} className={styles.check}>
          <RowCheckbox
            id={`${id}check`}
            of={`${id}name`}
            label="Select"
            isSelected={isSelected === true}
            onChange={props.onSelect}
          />
        </div>
      )}
      {shown.map((cell) => {
        const { align, isLink, unit } = cell.column.columnDef.meta ?? {};
        const content = <table.FlexRender cell={cell} />;
        return (
          <div
            key={cell.id}
            role="gridcell"
            aria-colindex={cells.indexOf(cell) + (props.onSelect ? 2 : 1)}
            className={styles.cell}
            data-align={align}
            data-link={isLink}
          >
            {isLink ? (
              <Link
                {...link}
                id={`${id}name`}
                tabIndex={-1}
                className={styles.link}
                draggable={false}
              >
                {content}
              </Link>
            ) : (
              content
            )}
            {isNarrow &&
              unit &&
              ` ${typeof unit === "string" ? unit : unit(row.original as never)}`}
          </div>
        );
      })}
    </div>
  );
}

/** Not a link or button in it, and not the end of a text selection. */
function isMeantForTheRow(event: MouseEvent): boolean {
  if (event.defaultPrevented || event.button !== 0) return false;
  const target = event.target as Element;
  if (target.closest("a, button, input, label, [role=button]")) return false;
  return window.getSelection()?.isCollapsed !== false;
}
