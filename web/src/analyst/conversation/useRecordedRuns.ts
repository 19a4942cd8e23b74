// Cost and duration of the answers of a conversation. They are recorded, but not saved with it.
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { client, ok } from "../../api/client";
import type { AgentConversation, RunSummary } from "../../api/schema";
import { RECORDED } from "../../live/events";
import { useLiveRefresh } from "../../live/useLiveRefresh";

const MOST = 200;

/** The runs of its saved answers by their traces, if they are still recorded. */
export function useRecordedRuns(saved: AgentConversation | null): ReadonlyMap<string, RunSummary> {
  const id = saved?.id ?? "";
  const ended = saved?.exchanges.filter((each) => each.stop_reason !== null) ?? [];
  const queryKey = ["analyst", "runs", id, ended.length];
  const queries = useQueryClient();
  useLiveRefresh(
    RECORDED,
    () => queries.invalidateQueries({ queryKey }),
    ended.length > 0,
    (event) => ended.some((each) => each.trace_id === event.trace_id),
  );
  const found = useQuery({
    queryKey,
    queryFn: ({ signal }) => {
      const query = { thread_ids: [id], limit: MOST };
      return ok(client.GET("/api/v1/runs", { params: { query }, signal }));
    },
    enabled: ended.length > 0,
    placeholderData: keepPreviousData,
  });
  return new Map(found.data?.data.map((run) => [run.trace_id, run]));
}
