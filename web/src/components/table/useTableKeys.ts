// The keys of a list: which row is the active one, and what is done with it.
import type { RefObject } from "react";
import { useShortcut } from "../../shortcuts/ShortcutProvider";

interface Keys {
  grid: RefObject<HTMLElement | null>;
  /** What its rows are. */
  what: string;
  count: number;
  /** Of the active row; -1 for none. */
  place: number;
  /** How many rows are in view. */
  inView: () => number;
  go: (place: number) => void;
  open: () => void;
  peek?: () => void;
}

export function useTableKeys(keys: Keys): void {
  const { grid, what, count, place, inView, go, open, peek } = keys;
  const where = `The list of ${what}`;
  const to = (wanted: number) => {
    if (count > 0) go(Math.max(0, Math.min(wanted, count - 1)));
  };
  const walk = (wanted: number) => {
    grid.current?.focus();
    to(wanted);
  };
  const here = { where, within: grid };
  useShortcut({ keys: "j", does: "Next row", where }, () => walk(place + 1));
  useShortcut({ keys: "k", does: "Row before", where }, () => walk(place - 1));
  useShortcut({ keys: "ArrowDown", does: "Next row", ...here }, () => to(place + 1));
  useShortcut({ keys: "ArrowUp", does: "Row before", ...here }, () => to(place - 1));
  useShortcut({ keys: "PageDown", does: "A page down", ...here }, () => to(place + inView()));
  useShortcut({ keys: "PageUp", does: "A page up", ...here }, () => to(place - inView()));
  useShortcut({ keys: "Home", does: "First row", ...here }, () => to(0));
  useShortcut({ keys: "End", does: "Last row that is loaded", ...here }, () => to(count - 1));
  useShortcut({ keys: "Enter", does: "Open the row", ...here }, open);
  useShortcut(
    { keys: "Space", does: "Show the row beside the list, or no more", ...here },
    () => peek?.(),
    peek !== undefined,
  );
}
