// Whether an element is too narrow for columns, by its own width, since the analyst may be next to
// it.
import { type RefObject, useLayoutEffect, useState } from "react";

const NARROW_PX = 640;

export function useIsNarrow(element: RefObject<HTMLElement | null>): boolean {
  const [isNarrow, set] = useState(() => window.innerWidth < NARROW_PX);
  useLayoutEffect(() => {
    const current = element.current;
    if (!current) return;
    const watcher = new ResizeObserver(() => {
      if (current.clientWidth > 0) set(current.clientWidth < NARROW_PX);
    });
    watcher.observe(current);
    return () => watcher.disconnect();
  }, [element]);
  return isNarrow;
}
