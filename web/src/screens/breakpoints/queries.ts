// The data and actions of the breakpoints screen. A `Notice` reports each call that begins to
// wait. Only the end of its span reports the result.
import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { client, ok } from "../../api/client";
import type { Breakpoint, Given, HeldSummary } from "../../api/schema";
import { useLiveRefresh } from "../../live/useLiveRefresh";

const LIST = ["breakpoints"] as const;
const HELD = ["held"] as const;
const LOOK_MS = 2_000;

export function useBreakpoints() {
  return useQuery({
    queryKey: LIST,
    queryFn: ({ signal }) => ok(client.GET("/api/v1/breakpoints", { signal })),
  });
}

export function useHeld() {
  const queries = useQueryClient();
  const held = useQuery({
    queryKey: HELD,
    queryFn: ({ signal }) => ok(client.GET("/api/v1/breakpoints/held", { signal })),
    // A client that disconnects, and a decision elsewhere, cause no event.
    refetchInterval: (query) => (query.state.data?.data.some(isWaiting) ? LOOK_MS : false),
  });
  useLiveRefresh(["Notice", "SpanEnded"], () => queries.invalidateQueries({ queryKey: HELD }));
  return held;
}

export function isWaiting(held: Pick<HeldSummary, "state">): boolean {
  return held.state === "waiting";
}

/** A held call with its body. A new `state` in the list causes another read. */
export function useHeldCall(id: string, state: string | undefined) {
  return useQuery({
    queryKey: [...HELD, id, state],
    queryFn: ({ signal }) =>
      ok(
        client.GET("/api/v1/breakpoints/held/{held_id}", {
          params: { path: { held_id: id } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });
}

/** The spans of the trace of a held call: they have the answer to its client. */
export function useAnswer(traceId: string, enabled: boolean) {
  const queries = useQueryClient();
  const queryKey = ["held-answer", traceId];
  useLiveRefresh(["SpanEnded"], () => queries.invalidateQueries({ queryKey }), enabled);
  return useQuery({
    queryKey,
    queryFn: ({ signal }) => {
      const query = { trace_ids: [traceId], limit: 50 };
      return ok(client.GET("/api/v1/spans", { params: { query }, signal }));
    },
    enabled,
  });
}

export function useAdd() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (body: Given) => ok(client.POST("/api/v1/breakpoints", { body })),
    onSuccess: () => queries.invalidateQueries({ queryKey: LIST }),
  });
}

export function useChange() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ id, enabled }: { id: string; enabled: boolean }) => {
      const params = { path: { breakpoint_id: id } };
      return ok(client.PATCH("/api/v1/breakpoints/{breakpoint_id}", { params, body: { enabled } }));
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: LIST }),
  });
}

export function useRemove() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ id }: Pick<Breakpoint, "id">) => {
      const params = { path: { breakpoint_id: id } };
      return ok(client.DELETE("/api/v1/breakpoints/{breakpoint_id}", { params }));
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: LIST }),
  });
}

export type Decided = { act: "continue"; body: string | null } | { act: "refuse"; reason: string };

export function useDecide(id: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (decided: Decided) => {
      const params = { path: { held_id: id } };
      if (decided.act === "refuse") {
        const body = { reason: decided.reason || null };
        return ok(client.POST("/api/v1/breakpoints/held/{held_id}/refuse", { params, body }));
      }
      const body = { body: decided.body };
      return ok(client.POST("/api/v1/breakpoints/held/{held_id}/continue", { params, body }));
    },
    onSettled: () => queries.invalidateQueries({ queryKey: HELD }),
  });
}
