// When new rows are shown: at once if nobody looks at a row, otherwise on request.
import { type RefObject, useLayoutEffect, useState } from "react";
import type { RowList } from "./useRowList";

/** Whether rows wait for a request, and a function to call when that may have changed. */
export function usePutIn<Row>(grid: RefObject<HTMLElement | null>, list: RowList<Row>) {
  const [isHeld, hold] = useState(false);
  const waits = list.waiting.added + list.waiting.moved > 0;
  const settle = () => {
    if (!waits || !grid.current) return;
    const held = isLookedAt(grid.current);
    hold(held);
    if (!held) list.putIn();
  };
  // After every render: the arrival of rows causes one.
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
