// The screens of what is compared: a trace, run, thread or span.
import type { LinkProps } from "@tanstack/react-router";
import type { Subject } from "../../api/schema";
import { idsIn } from "../../format/spanKey";

export function linkTo({ kind, id }: Subject): LinkProps {
  switch (kind) {
    case "run":
      return { to: "/runs/$runId", params: { runId: id } };
    case "thread":
      return { to: "/threads/$threadId", params: { threadId: id } };
    case "span": {
      const ids = idsIn(id);
      return ids
        ? spanLink(ids.trace_id, ids.span_id)
        : { to: "/traces/$traceId", params: { traceId: id } };
    }
    default:
      return { to: "/traces/$traceId", params: { traceId: id } };
  }
}

export function spanLink(traceId: string, spanId: string): LinkProps {
  return {
    to: "/traces/$traceId",
    params: { traceId },
    search: { span: spanId },
  } as LinkProps;
}
