// The keys that select rows of a list.
import type { RefObject } from "react";
import { useShortcut } from "../../shortcuts/ShortcutProvider";
import { isIdle } from "./rowFocus";
import type { RowSelection } from "./rowSelection";

interface Keys {
  grid: RefObject<HTMLElement | null>;
  /** The kind of the rows. */
  what: string;
  /** None: the rows cannot be selected. */
  selection: RowSelection | undefined;
  /** The id of the active row; null for none. */
  active: string | null;
  /** Makes another row active, and returns its id; null at an end of the list. */
  move: (by: 1 | -1) => string | null;
}

const isInList = (target: Element) =>
  isIdle(target) || target.closest("#main [role=grid]") !== null;

export function useSelectionKeys({ grid, what, selection, active, move }: Keys): void {
  const where = `The list of ${what}`;
  const isOffered = selection !== undefined;
  const here = { where, within: grid };
  const select = () => active !== null && selection?.toggle(active);
  const reach = () => active !== null && selection?.extend(active);
  const extend = (by: 1 | -1) => () => {
    reach();
    const next = move(by);
    if (next !== null) selection?.extend(next);
  };
  useShortcut({ keys: "x", does: "Select the row", where, when: isInList }, select, isOffered);
  useShortcut(
    { keys: "X", does: "Select the rows up to this one", where, when: isInList },
    reach,
    isOffered,
  );
  useShortcut(
    { keys: "Shift+ArrowDown", does: "Also select the next row", ...here },
    extend(1),
    isOffered,
  );
  useShortcut(
    { keys: "Shift+ArrowUp", does: "Also select the previous row", ...here },
    extend(-1),
    isOffered,
  );
  useShortcut(
    { keys: "Escape", does: "Select no row", where, when: isInList },
    () => selection?.clear(),
    isOffered && selection.ids.length > 0,
  );
}
