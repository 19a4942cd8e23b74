// The data of the panel, which is also read ahead for neighbouring rows.
import { queryOptions } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { client, getJson, ok } from "../../../api/client";
import type { ListedSpan, RunSummary, RunWithSpans, SpanContent } from "../../../api/schema";
import type { SpanIds } from "../../../format/spanKey";

const AHEAD_MS = 250;
const MOST_SPANS = 30;
const MOST_FAILED = 5;

export interface RunInShort {
  run: RunWithSpans;
  /** The first failed one. */
  failed: readonly ListedSpan[];
}

/** `row` is the run in the list: the panel is read again when it changes. */
export function runInShort(runId: string, row: RunSummary | undefined) {
  const version = row ? `${row.last_us} ${row.sums.spans} ${row.status}` : "";
  return queryOptions({
    queryKey: ["run in short", runId, version],
    queryFn: async ({ signal }): Promise<RunInShort> => {
      const address = `/api/v1/runs/${encodeURIComponent(runId)}?limit=${MOST_SPANS}`;
      const run = await getJson<RunWithSpans>(address, signal);
      return { run, failed: await failedOf(run, signal) };
    },
    staleTime: 60_000,
  });
}

async function failedOf(run: RunWithSpans, signal: AbortSignal): Promise<readonly ListedSpan[]> {
  const here = run.spans.data.filter((span) => span.status === "error");
  if (here.length >= Math.min(run.sums.errors, MOST_FAILED)) return here.slice(0, MOST_FAILED);
  const query = {
    run_ids: [run.run_id],
    status: ["error" as const],
    ascending: true,
    limit: MOST_FAILED,
  };
  return (await ok(client.GET("/api/v1/spans", { params: { query }, signal }))).data;
}

export function spanContent({ trace_id, span_id }: SpanIds, row: ListedSpan | undefined) {
  const path = [trace_id, span_id].map(encodeURIComponent).join("/");
  return queryOptions({
    queryKey: ["span in short", trace_id, span_id, row?.revision ?? null],
    queryFn: ({ signal }) => getJson<SpanContent>(`/api/v1/spans/${path}`, signal),
    staleTime: 60_000,
    structuralSharing: false,
  });
}

/** When a row is read, this reads those above and below it. `ahead` receives them. */
export function useReadAhead(isRead: boolean, place: number, ahead: (place: number) => void): void {
  const newest = useRef(ahead);
  useEffect(() => {
    newest.current = ahead;
  });
  useEffect(() => {
    if (!isRead || place < 0) return;
    const timer = setTimeout(() => {
      newest.current(place + 1);
      newest.current(place - 1);
    }, AHEAD_MS);
    return () => clearTimeout(timer);
  }, [isRead, place]);
}
