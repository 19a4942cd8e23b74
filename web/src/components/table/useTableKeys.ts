// The keys of a list: the active row, and the actions on it.
import type { RefObject } from "react";
import { useShortcut } from "../../shortcuts/ShortcutProvider";
import { focusList, isBesideRows, isIdle } from "./rowFocus";

interface Keys {
  grid: RefObject<HTMLElement | null>;
  /** The kind of the rows. */
  what: string;
  count: number;
  /** The index of the active row; -1 for none. */
  place: number;
  /** The number of rows in view. */
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
  useShortcut({ keys: "k", does: "Previous row", where }, () => walk(place - 1));
  useShortcut({ keys: "ArrowDown", does: "Next row", ...here }, () => to(place + 1));
  useShortcut({ keys: "ArrowUp", does: "Previous row", ...here }, () => to(place - 1));
  const idle = { where, when: isIdle };
  useShortcut({ keys: "ArrowDown", does: "Next row", ...idle }, () => walk(place + 1));
  useShortcut({ keys: "ArrowUp", does: "Previous row", ...idle }, () => walk(place - 1));
  useShortcut(
    { keys: "Escape", does: "Back to the rows", where, inFields: true, when: isBesideRows },
    focusList,
  );
  useShortcut({ keys: "PageDown", does: "One page down", ...here }, () => to(place + inView()));
  useShortcut({ keys: "PageUp", does: "One page up", ...here }, () => to(place - inView()));
  useShortcut({ keys: "Home", does: "First row", ...here }, () => to(0));
  useShortcut({ keys: "End", does: "Last loaded row", ...here }, () => to(count - 1));
  useShortcut({ keys: "Enter", does: "Open the row", ...here }, open);
  useShortcut(
    { keys: "Space", does: "Show or hide the row next to the list", ...here },
    () => peek?.(),
    peek !== undefined,
  );
}
