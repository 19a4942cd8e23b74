// What waits for a person to allow it, wherever it was asked, and the way to answer.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { client, ok } from "../../api/client";
import { useNotices } from "../../components/Notices";
import { useLiveEvents } from "../../live/LiveProvider";
import type { Question } from "../turn/events";

const KEY = ["approvals"] as const;
export type Scope = "once" | "session" | "always" | "denied";

/** The questions that wait, oldest first. */
export function useWaiting(): readonly Question[] {
  const queries = useQueryClient();
  const waiting = useQuery({
    queryKey: KEY,
    queryFn: async ({ signal }) => {
      const pending = await ok(client.GET("/api/v1/approvals", { signal }));
      return pending.data;
    },
    staleTime: Number.POSITIVE_INFINITY, // the events say what is asked and answered
  });
  useLiveEvents(["open", "ApprovalRequested", "ApprovalResolved"], () => {
    void queries.invalidateQueries({ queryKey: KEY });
  });
  return waiting.data ?? [];
}

/** The ids of what was answered on this page: whatever else was, was answered elsewhere. */
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
      tell({ kind: "info", text: "It was answered elsewhere already, or waits no more." });
    },
    onError: () => answeredHere.delete(approvalId),
  });
}
