// The selected span: at once on the screen, and in the address when the selection has settled.
import { useCallback, useEffect, useRef, useState } from "react";

const REST_MS = 150;

export interface Selection {
  /** Its id; undefined without a selection. */
  id: string | undefined;
  /** The settled selection: requests to the server follow this one. */
  restedId: string | undefined;
  choose: (id: string | undefined) => void;
}

export function useSelection(
  given: string | undefined,
  say: (id: string | undefined) => void,
): Selection {
  const [id, setId] = useState(given);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const said = useRef(given);
  const newest = useRef(say);
  useEffect(() => {
    newest.current = say;
  });
  const choose = useCallback((next: string | undefined) => {
    setId(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      if (said.current === next) return;
      said.current = next;
      newest.current(next);
    }, REST_MS);
  }, []);
  useEffect(() => {
    // The address was changed from outside: a link, the back button, a tool.
    if (given === said.current) return;
    said.current = given;
    clearTimeout(timer.current);
    setId(given);
  }, [given]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return { id, restedId: given, choose };
}
