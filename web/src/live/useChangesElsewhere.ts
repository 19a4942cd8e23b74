// Changes by another tab or program: all shown data is read again. They are rare enough to need no
// distinction.
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { useLiveEvents } from "./LiveProvider";

const CHANGES = ["SpansDeleted", "ConversationChanged", "ModeChanged"];
const LOOK_MS = 250;
/** Consecutive checks without a change of this page: by then it has left what it deleted. */
const CALM = 2;

export function useChangesElsewhere(): void {
  const queries = useQueryClient();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  useLiveEvents(CHANGES, (event) => {
    if (!CHANGES.includes(event.type) || timer.current !== undefined) return; // a gap has its own handling
    let calm = 0;
    const look = () => {
      calm = queries.isMutating() > 0 ? 0 : calm + 1;
      timer.current = calm < CALM ? setTimeout(look, LOOK_MS) : undefined;
      if (calm >= CALM) void queries.invalidateQueries();
    };
    timer.current = setTimeout(look, LOOK_MS);
  });
}
