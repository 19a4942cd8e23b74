// The width of a list, and whether it is too narrow for columns. That depends on the area of the list
// with the panel next to it, not on the window, since the analyst may be docked.
import { type RefObject, useLayoutEffect, useState } from "react";

const NARROW_PX = 640;
const STEP_PX = 16; // smaller changes of the width change nothing

export interface ListWidth {
  isNarrow: boolean;
  /** The width of the list in pixels, rounded down; null until it is known. */
  width: number | null;
}

export function useListWidth(element: RefObject<HTMLElement | null>): ListWidth {
  const [isNarrow, setNarrow] = useState(() => window.innerWidth < NARROW_PX);
  const [width, setWidth] = useState<number | null>(null);
  useLayoutEffect(() => {
    const list = element.current;
    if (!list) return;
    const area = list.closest("[data-list-area]") ?? list;
    const watcher = new ResizeObserver(() => {
      if (area.clientWidth > 0) setNarrow(area.clientWidth < NARROW_PX);
      setWidth(Math.floor(list.clientWidth / STEP_PX) * STEP_PX);
    });
    watcher.observe(list);
    watcher.observe(area);
    return () => watcher.disconnect();
  }, [element]);
  return { isNarrow, width };
}

/** Whether an element is too narrow for columns. */
export function useIsNarrow(element: RefObject<HTMLElement | null>): boolean {
  return useListWidth(element).isNarrow;
}
