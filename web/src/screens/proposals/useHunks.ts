// The current and the selected hunks of a proposal, by keyboard and pointer.
import { type RefObject, useCallback, useMemo, useRef, useState } from "react";
import type { ShownProposal } from "../../api/schema";
import { useShortcut } from "../../shortcuts/ShortcutProvider";
import { type Hunk, hunksOf } from "./hunks";

export interface Hunks {
  byFile: ReadonlyMap<string, readonly Hunk[]>;
  /** The numbers of the undecided hunks. */
  undecided: readonly number[];
  selected: ReadonlySet<number>;
  current: number | null;
  select: (number: number, isSelected: boolean) => void;
  clear: () => void;
  /** Registers the element of a hunk. */
  place: (number: number) => (element: HTMLElement | null) => void;
}

const HERE = "Proposal";

export function useHunks(proposal: ShownProposal, canDecide: boolean): Hunks {
  const byFile = useMemo(
    () => new Map(proposal.files.map((file) => [file.path, hunksOf(file)])),
    [proposal.files],
  );
  const all = useMemo(() => [...byFile.values()].flat(), [byFile]);
  const undecided = useMemo(
    () => all.filter((hunk) => !hunk.isDenied).map((hunk) => hunk.number),
    [all],
  );
  const [chosen, choose] = useState<ReadonlySet<number>>(new Set());
  const [current, setCurrent] = useState<number | null>(null);
  const elements = useRef(new Map<number, HTMLElement>());
  // A hunk that was denied in the meantime is no longer selected.
  const selected = useMemo(
    () => new Set(undecided.filter((number) => canDecide && chosen.has(number))),
    [undecided, chosen, canDecide],
  );
  const select = useCallback((number: number, isSelected: boolean) => {
    choose((now) => {
      const next = new Set(now);
      if (isSelected) next.add(number);
      else next.delete(number);
      return next;
    });
  }, []);
  const step = (by: number) => {
    const from = focusedIn(elements) ?? current;
    const at = from === null ? (by > 0 ? -1 : 0) : all.findIndex((hunk) => hunk.number === from);
    const next = all[Math.min(Math.max(at + by, 0), all.length - 1)];
    if (!next) return;
    setCurrent(next.number);
    const element = elements.current.get(next.number);
    element?.scrollIntoView({ block: "nearest" });
    element?.focus({ preventScroll: true });
  };
  const toggle = () => {
    const number = focusedIn(elements) ?? current;
    if (number === null || !undecided.includes(number)) return;
    setCurrent(number);
    select(number, !selected.has(number));
  };
  useShortcut({ keys: "j", does: "Next hunk", where: HERE }, () => step(1));
  useShortcut({ keys: "k", does: "Previous hunk", where: HERE }, () => step(-1));
  useShortcut({ keys: "Space", does: "Select this hunk", where: HERE }, toggle, canDecide);
  const place = useCallback(
    (number: number) => (element: HTMLElement | null) => {
      if (element) elements.current.set(number, element);
      else elements.current.delete(number);
    },
    [],
  );
  const clear = useCallback(() => choose(new Set()), []);
  return { byFile, undecided, selected, current, select, clear, place };
}

function focusedIn(elements: RefObject<Map<number, HTMLElement>>): number | null {
  for (const [number, element] of elements.current) {
    if (element.contains(document.activeElement)) return number;
  }
  return null;
}
