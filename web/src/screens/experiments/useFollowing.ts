// Keeps the shown experiment up to date, whichever page or program changes it.
import { type InvalidateQueryFilters, useQueryClient } from "@tanstack/react-query";
import { useRef } from "react";
import { useLiveEvents } from "../../live/LiveProvider";
import { useLiveRefresh } from "../../live/useLiveRefresh";
import { keys } from "./queries";

const CHANGES = ["ExperimentChanged"];

/** Reads an experiment again when it changes, and its batches when they progress. */
export function useFollowing(id: string): void {
  const queries = useQueryClient();
  const wanted = useRef({ experiment: false, batches: new Set<string>() });
  // Subscribed before the refresh below, which looks at the requested parts.
  useLiveEvents(CHANGES, (event) => {
    if (event.experiment_id !== id) return;
    if (typeof event.batch_id === "string") wanted.current.batches.add(event.batch_id);
    else wanted.current.experiment = true;
  });
  useLiveRefresh(CHANGES, async () => {
    const { experiment, batches } = wanted.current;
    wanted.current = { experiment: false, batches: new Set() };
    const stale: InvalidateQueryFilters[] = [
      ...(experiment ? [{ queryKey: keys.one(id), exact: true }] : []),
      ...(batches.size ? [{ queryKey: keys.batches(id), exact: true }] : []),
      // Evaluations change a comparison, and nothing else of its batch.
      ...[...batches].map((batch) => ({ queryKey: [...keys.batch(id, batch), "comparison"] })),
    ];
    await Promise.all(stale.map((each) => queries.invalidateQueries(each)));
  });
}

/** Reads the list again when any experiment changes. */
export function useFollowingAll(): void {
  const queries = useQueryClient();
  useLiveRefresh(CHANGES, () => queries.invalidateQueries({ queryKey: keys.list }));
}
