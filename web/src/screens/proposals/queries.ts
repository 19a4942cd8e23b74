// The data and actions of the proposal screens. Events report changes by other front ends.
import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { client, ok } from "../../api/client";
import type { Decision, ProposalState } from "../../api/schema";
import { EDITS } from "../../live/events";
import { useLiveEvents } from "../../live/LiveProvider";

const LIST = ["proposals"] as const;
const one = (id: string) => ["proposal", id] as const;

export function useProposals(state: ProposalState | undefined, limit: number) {
  const queries = useQueryClient();
  useLiveEvents(EDITS, () => void queries.invalidateQueries({ queryKey: LIST }));
  return useQuery({
    queryKey: [...LIST, state, limit],
    queryFn: ({ signal }) => {
      const query = { limit, ...(state ? { state } : {}) };
      return ok(client.GET("/api/v1/proposals", { params: { query }, signal }));
    },
    placeholderData: keepPreviousData,
  });
}

export function useProposal(reference: string) {
  const queries = useQueryClient();
  useLiveEvents(EDITS, (event) => {
    const named = event.proposal_id;
    if (named === undefined || String(named).startsWith(reference)) {
      void queries.invalidateQueries({ queryKey: one(reference) });
    }
  });
  return useQuery({
    queryKey: one(reference),
    queryFn: ({ signal }) => {
      const params = { path: { reference } };
      return ok(client.GET("/api/v1/proposals/{reference}", { params, signal }));
    },
    // A file can change without an event: a return to the page refreshes the state.
    refetchOnWindowFocus: true,
  });
}

export type Act =
  | { act: "approve" | "deny"; decision: Decision }
  | { act: "undo"; keepChanged?: boolean }
  | { act: "redo" | "restage" };

export function useAct(reference: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (wanted: Act) => {
      const params = { path: { reference } };
      switch (wanted.act) {
        case "approve":
          return ok(
            client.POST("/api/v1/proposals/{reference}/approve", { params, body: wanted.decision }),
          );
        case "deny":
          return ok(
            client.POST("/api/v1/proposals/{reference}/deny", { params, body: wanted.decision }),
          );
        case "undo": {
          const query = { keep_changed: wanted.keepChanged ?? false };
          return ok(
            client.POST("/api/v1/proposals/{reference}/undo", { params: { ...params, query } }),
          );
        }
        default:
          return ok(client.POST(`/api/v1/proposals/{reference}/${wanted.act}`, { params }));
      }
    },
    // A failure may have changed it too: a proposal that no longer applies is conflicted.
    onSettled: () =>
      Promise.all([
        queries.invalidateQueries({ queryKey: one(reference) }),
        queries.invalidateQueries({ queryKey: LIST }),
      ]),
  });
}
