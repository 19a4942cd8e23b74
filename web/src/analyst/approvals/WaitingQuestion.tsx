// A question that waits, outside of the turn that it belongs to, with the arguments of its call.
import { useQuery } from "@tanstack/react-query";
import { client, ok } from "../../api/client";
import type { Question } from "../turn/events";
import { ApprovalView } from "./ApprovalView";

export function WaitingQuestion({ question }: { question: Question }) {
  const { request_id, key } = question;
  const call = useQuery({
    queryKey: ["asking-call", question.approval_id],
    queryFn: async ({ signal }) => {
      const params = { path: { request_id } };
      const events = client.GET("/api/v1/turns/{request_id}/events", { params, signal });
      const asking = (await ok(events)).data.find(
        (event) =>
          event.type === "ToolCallRequested" &&
          event.request_id === request_id &&
          event.key.turn === key.turn &&
          event.key.slot === key.slot,
      );
      return asking?.type === "ToolCallRequested" ? asking.arguments : null;
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <ApprovalView
      question={question}
      scope={null}
      words={null}
      argumentsText={call.data ?? undefined}
    />
  );
}
