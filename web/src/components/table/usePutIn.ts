// When rows that have arrived are put in: at once where nobody is looking at a row, else when asked.
import { type RefObject, useLayoutEffect, useState } from "react";
import type { RowList } from "./useRowList";

/** Whether rows wait for a person to ask for them, and what to call when that may have changed. */
export function usePutIn<Row>(grid: RefObject<HTMLElement | null>, list: RowList<Row>) {
  const [isHeld, hold] = useState(false);
  const waits = list.waiting.added + list.waiting.moved > 0;
  const settle = () => {
    if (!waits || !grid.current) return;
    const held = isLookedAt(grid.current);
    hold(held);
    if (!held) list.putIn();
  };
  // After every rendering: it is the arrival of rows that renders.
  useLayoutEffect(settle);
  const putIn = () => {
    list.putIn();
    grid.current?.scrollTo({ top: 0 });
  };
  return { isHeld: isHeld && waits, settle, putIn };
}

function isLookedAt(grid: HTMLElement): boolean {
  return grid.scrollTop > 0 || grid.matches(":hover") || grid.contains(document.activeElement);
}
