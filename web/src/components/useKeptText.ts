// Text that a person typed and has not sent. The tab keeps it over a reload and a change of
// screen.
import { useCallback, useState } from "react";

const PREFIX = "treadle:written:";

/**
 * Like `useState`, kept under `name` while the tab is open; null if nothing is typed. A component
 * has one name for its lifetime, so a name that depends on shown data needs a React key.
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
        // It is longer than the browser stores, so it lasts only while it is shown.
        sessionStorage.removeItem(PREFIX + name);
      }
    },
    [name],
  );
  return [text, keep] as const;
}
