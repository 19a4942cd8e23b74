// Which span is chosen: at once on the screen, and in the address when the choice has come to rest.
import { useCallback, useEffect, useRef, useState } from "react";

const REST_MS = 150;

export interface Selection {
  /** Its id; undefined while none is chosen. */
  id: string | undefined;
  /** The same when it has come to rest: what is read from the server follows this one. */
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
    // Somebody else changed the address: a link, the way back, a tool.
    if (given === said.current) return;
    said.current = given;
    clearTimeout(timer.current);
    setId(given);
  }, [given]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return { id, restedId: given, choose };
}
