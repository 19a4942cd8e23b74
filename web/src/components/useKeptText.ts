// Text that a person writes and has not sent: kept in this tab over a reload and a look elsewhere.
import { useCallback, useState } from "react";

const PREFIX = "treadle:written:";

/**
 * As `useState`, kept under `name` while the tab is open; null where nothing is written. A component
 * has one name for good: where that is of something shown, it needs a key of it.
 */
export function useKeptText(name: string) {
  const [text, setText] = useState(() => sessionStorage.getItem(PREFIX + name));
  const keep = useCallback(
    (next: string | null) => {
      setText(next);
      try {
        if (next) sessionStorage.setItem(PREFIX + name, next);
        else sessionStorage.removeItem(PREFIX + name);
      } catch {
        // It is longer than the browser keeps: it lasts as long as it is shown.
        sessionStorage.removeItem(PREFIX + name);
      }
    },
    [name],
  );
  return [text, keep] as const;
}
