// The keyboard focus of the shown list: a grid, or the rows of a plain table.
import { useShortcut } from "../../shortcuts/ShortcutProvider";

const GRID = "#main [role=grid]";
const ROWS = "#main tbody tr, #main [data-row]";
const CHOSEN = "[data-chosen=true]";

/** Moves the focus to the list of the screen, or out of the field if the list is empty. */
export function focusList(): void {
  const grid = document.querySelector<HTMLElement>(GRID);
  const rows = shownRows();
  const row = rows.find((each) => each.matches(CHOSEN) || each.querySelector(CHOSEN)) ?? rows[0];
  if (grid) grid.focus({ preventScroll: true });
  else if (row) focusRow(row);
  else if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
}

/** Whether nothing has the focus. */
export function isIdle(target: Element): boolean {
  return target === document.body || target.id === "main";
}

/** The keys of a list of few rows: each has a link or a button, which takes the focus. */
export function useRowKeys(what: string): void {
  const where = `The list of ${what}`;
  const step = (by: number) => () => {
    const rows = shownRows();
    const at = rows.findIndex((row) => row.contains(document.activeElement));
    const next = at < 0 ? 0 : Math.max(0, Math.min(at + by, rows.length - 1));
    focusRow(rows[next]);
  };
  useShortcut({ keys: "j", does: "Next row", where }, step(1));
  useShortcut({ keys: "k", does: "Previous row", where }, step(-1));
  useShortcut({ keys: "ArrowDown", does: "Next row", where, when: isNearRows }, step(1));
  useShortcut({ keys: "ArrowUp", does: "Previous row", where, when: isNearRows }, step(-1));
  useShortcut(
    { keys: "Escape", does: "Back to the rows", where, inFields: true, when: isBesideRows },
    focusList,
  );
}

export function isNearRows(target: Element): boolean {
  return isIdle(target) || target.closest(ROWS) !== null;
}

/** Whether another part of the screen than the list has the focus. */
export function isBesideRows(target: Element): boolean {
  return target.closest("#main") !== null && target.closest(`${GRID}, ${ROWS}`) === null;
}

function shownRows(): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>(ROWS)];
}

function focusRow(row: HTMLElement | undefined): void {
  const target = row?.querySelector<HTMLElement>("a, button, input") ?? row;
  if (!row || !target) return;
  if (target === row) row.tabIndex = -1;
  target.focus({ preventScroll: true });
  row.scrollIntoView({ block: "nearest" });
}
