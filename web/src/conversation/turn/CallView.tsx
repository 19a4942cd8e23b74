// A tool call as one line, which unfolds to its arguments, its result and its span.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { memo, type ReactNode, useId, useState } from "react";
import { client, ok } from "../../api/client";
import { Badge } from "../../components/Badge";
import { LongText } from "../../components/LongText";
import { ArgumentsView } from "../../components/messages/ArgumentsView";
import { ResultView } from "../../components/messages/ResultView";
import { useElapsed, wholeSeconds } from "../../components/Took";
import { duration } from "../../format/numbers";
import { cut, visible } from "../../text/visible";
import { ApprovalView } from "../approvals/ApprovalView";
import styles from "./CallView.module.css";
import type { Call } from "./turn";
import { actedOn, argumentsInShort, callTitle, isAgentCall } from "./wording";

interface Props {
  call: Call;
  /** The request that made the call, and its trace; null if unknown. */
  requestId: string | null;
  traceId: string | null;
  /** What the called agents did. */
  children?: ReactNode;
}

export const CallView = memo(({ call, requestId, traceId, children }: Props) => {
  const [isOpen, open] = useState(false);
  const details = useId();
  const waits = call.approvals.some((each) => each.scope === null);
  return (
    <div className={styles.call} data-state={call.state}>
      <button
        type="button"
        className={styles.line}
        aria-expanded={isOpen}
        aria-controls={details}
        onClick={() => open(!isOpen)}
      >
        <Sign call={call} waits={waits} />
        <span className={styles.words}>
          <span className={styles.name}>{visible(callTitle(call))}</span>{" "}
          <span className={styles.short}>{inShort(argumentsInShort(call))}</span>
        </span>
        <Took call={call} />
      </button>
      <Outcome call={call} />
      {call.approvals.map((approval) => (
        <ApprovalView
          key={approval.approval_id}
          question={approval}
          scope={approval.scope}
          words={approval.words}
        />
      ))}
      {children}
      <div id={details}>
        {isOpen && <Details call={call} requestId={requestId} traceId={traceId} />}
      </div>
    </div>
  );
});

const MOST_SHORT = 160;

function inShort(text: string): string {
  const { shown, left } = cut(text.replace(/\s+/gu, " "), MOST_SHORT);
  return visible(shown) + (left > 0 ? "…" : "");
}

function Sign({ call, waits }: { call: Call; waits: boolean }) {
  const denied = call.failure?.kind === "denied";
  const cancelled = call.failure?.kind === "cancelled";
  const [sign, words] = waits
    ? ["?", "needs approval"]
    : call.state === "running"
      ? ["●", "running"]
      : call.state === "done"
        ? ["✓", "done"]
        : denied
          ? ["⊖", "denied"]
          : cancelled
            ? ["⊘", "cancelled"]
            : ["✕", "failed"];
  return (
    <span className={styles.sign} data-waits={waits}>
      <span aria-hidden="true">{sign}</span>
      <span className="visually-hidden">{words}: </span>
    </span>
  );
}

function Took({ call }: { call: Call }) {
  const seconds = useElapsed(call.state === "running" ? call.startedAt : null);
  const took = call.duration === null ? "" : duration(Math.round(call.duration * 1e6));
  return <span className={styles.took}>{seconds === null ? took : wholeSeconds(seconds)}</span>;
}

/** The result of the call, and the page that it acted on. */
function Outcome({ call }: { call: Call }) {
  const page = actedOn(call);
  const text =
    call.state === "running"
      ? call.progress
      : call.state === "failed"
        ? (call.failure?.message ?? "The call failed.")
        : isAgentCall(call)
          ? null // the symbol shows that it is done, and the answer shows the result
          : call.summary;
  if (!text && !page) return null;
  return (
    <div className={styles.outcome}>
      {text && <span className={styles.summary}>{inShort(text)}</span>}
      {page && <Badge tone={page === "this page" ? "accent" : "plain"}>on {page}</Badge>}
    </div>
  );
}

function Details({ call, requestId, traceId }: Omit<Props, "children">) {
  return (
    <dl className={styles.details}>
      <dt>Arguments</dt>
      <dd>
        <ArgumentsView text={call.arguments} />
      </dd>
      {call.failure && (
        <>
          <dt>Failure</dt>
          <dd>
            <LongText text={call.failure.message} first={2_000} />
            {call.failure.hint && <LongText text={call.failure.hint} first={2_000} />}
          </dd>
        </>
      )}
      {call.content !== null && (
        <>
          <dt>Result</dt>
          <dd>
            <ResultView text={call.content} />
          </dd>
        </>
      )}
      {requestId && traceId && (
        <dd>
          <Recorded call={call} requestId={requestId} traceId={traceId} />
        </dd>
      )}
    </dl>
  );
}

function Recorded({
  call,
  requestId,
  traceId,
}: {
  call: Call;
  requestId: string;
  traceId: string;
}) {
  const { turn, slot } = call.key;
  const place = useQuery({
    queryKey: ["call-place", requestId, turn, slot],
    queryFn: ({ signal }) =>
      ok(
        client.GET("/api/v1/turns/{request_id}/calls/{turn}/{slot}", {
          params: { path: { request_id: requestId, turn, slot } },
          signal,
        }),
      ),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const span = place.data?.span_id;
  return (
    <Link to="/traces/$traceId" params={{ traceId }} search={span ? { span } : {}}>
      Open in trace
    </Link>
  );
}
