// What a person changed or deleted in another tab or with another program: all that is shown is read
// again. It happens so seldom that nothing need be told apart.
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { useLiveEvents } from "./LiveProvider";

const CHANGES = ["SpansDeleted", "ConversationChanged"];
/** The page that deletes something leaves it first; and many deletions are read after once. */
const CALM_MS = 500;

export function useChangesElsewhere(): void {
  const queries = useQueryClient();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  useLiveEvents(CHANGES, (event) => {
    if (!CHANGES.includes(event.type) || timer.current !== undefined) return; // a gap is seen to
    timer.current = setTimeout(readAgain, CALM_MS);
  });
  const readAgain = () => {
    // What this page deletes just now is not asked for: it is about to be left.
    const isBusy = queries.isMutating() > 0;
    timer.current = isBusy ? setTimeout(readAgain, CALM_MS) : undefined;
    if (!isBusy) void queries.invalidateQueries();
  };
}
