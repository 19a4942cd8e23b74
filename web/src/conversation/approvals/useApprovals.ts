// The calls that wait for permission, wherever they were made, and the request that answers one.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { client, ok } from "../../api/client";
import { useNotices } from "../../components/Notices";
import { useLiveEvents } from "../../live/LiveProvider";
import type { Question } from "../turn/events";

const KEY = ["approvals"] as const;
export type Scope = "once" | "session" | "always" | "denied";

/** The waiting questions, oldest first. */
export function useWaiting(): readonly Question[] {
  const queries = useQueryClient();
  const waiting = useQuery({
    queryKey: KEY,
    queryFn: async ({ signal }) => {
      const pending = await ok(client.GET("/api/v1/approvals", { signal }));
      return pending.data;
    },
    staleTime: Number.POSITIVE_INFINITY, // events report new questions and answers
  });
  useLiveEvents(["open", "ApprovalRequested", "ApprovalResolved"], () => {
    void queries.invalidateQueries({ queryKey: KEY });
  });
  return waiting.data ?? [];
}

/** The ids that this page answered. Any other answer came from elsewhere. */
const answeredHere = new Set<string>();

export function wasAnsweredHere(approvalId: string): boolean {
  return answeredHere.has(approvalId);
}

export function useAnswer(approvalId: string) {
  const { tell } = useNotices();
  return useMutation({
    mutationFn: async ({ scope, words }: { scope: Scope; words?: string }) => {
      answeredHere.add(approvalId);
      const { taken } = await ok(
        client.POST("/api/v1/approvals/{approval_id}", {
          params: { path: { approval_id: approvalId } },
          body: { scope, words: words || null },
        }),
      );
      if (taken) return;
      answeredHere.delete(approvalId);
      tell({ kind: "info", text: "This approval was answered elsewhere, or it has expired." });
    },
    onError: () => answeredHere.delete(approvalId),
  });
}
