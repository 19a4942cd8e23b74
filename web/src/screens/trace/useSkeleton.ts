// The skeleton of a trace, which is updated live while it is shown.
import { queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import { isNotFound } from "../../api/client";
import type { Skeleton } from "../../api/schema";
import { GAP, WRITTEN } from "../../live/events";
import { pause } from "../../live/pause";
import { useLiveRefresh } from "../../live/useLiveRefresh";
import { type Tree, treeOf } from "./model/tree";
import { readSkeleton } from "./reading";

const REST = 4; // a large trace is read again after a multiple of its own duration

function skeletonOptions(traceId: string) {
  return queryOptions({
    queryKey: ["skeleton", traceId],
    queryFn: async ({ signal, client }) => {
      const found = await readSkeleton(traceId, signal);
      const known = client.getQueryData<Skeleton>(["skeleton", traceId]);
      // The same object if nothing was written, so that the tree is not built again.
      return known && isSame(known, found) ? known : found;
    },
    staleTime: 0, // while it was hidden, no events reported changes
    structuralSharing: false, // comparing 50,000 spans would take too long
  });
}

function isSame(one: Skeleton, other: Skeleton): boolean {
  const size = (skeleton: Skeleton) => skeleton.columns.span_ids.length;
  return one.revision === other.revision && size(one) === size(other);
}

export interface TraceRead {
  skeleton: Skeleton | undefined;
  tree: Tree | null;
  error: unknown;
  retry: () => void;
}

export function useSkeleton(traceId: string): TraceRead {
  const queries = useQueryClient();
  const read = useQuery(skeletonOptions(traceId));
  useLiveRefresh(
    WRITTEN,
    async (signal) => {
      const began = performance.now();
      await queries.refetchQueries({ queryKey: ["skeleton", traceId], exact: true });
      const rest = REST * (performance.now() - began);
      if (!signal.aborted) await pause(rest);
    },
    true,
    (event) => event.type === GAP || event.type === "SpansLeftOut" || event.trace_id === traceId,
  );
  // A deleted trace is gone, whatever was known about it.
  const skeleton = isNotFound(read.error) ? undefined : read.data;
  const tree = useMemo(() => (skeleton ? treeOf(skeleton) : null), [skeleton]);
  return { skeleton, tree, error: read.error, retry: () => void read.refetch() };
}
