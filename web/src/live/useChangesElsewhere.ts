// What a person changed or deleted in another tab or with another program: all that is shown is read
// again. It happens so seldom that nothing need be told apart.
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { useLiveEvents } from "./LiveProvider";

const CHANGES = ["SpansDeleted", "ConversationChanged"];
const LOOK_MS = 250;
/** So often in a row nothing is being changed here: what this page deletes, it has left by then. */
const CALM = 2;

export function useChangesElsewhere(): void {
  const queries = useQueryClient();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  useLiveEvents(CHANGES, (event) => {
    if (!CHANGES.includes(event.type) || timer.current !== undefined) return; // a gap is seen to
    let calm = 0;
    const look = () => {
      calm = queries.isMutating() > 0 ? 0 : calm + 1;
      timer.current = calm < CALM ? setTimeout(look, LOOK_MS) : undefined;
      if (calm >= CALM) void queries.invalidateQueries();
    };
    timer.current = setTimeout(look, LOOK_MS);
  });
}
