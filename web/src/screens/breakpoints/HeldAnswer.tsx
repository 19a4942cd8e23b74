// The decision about a held call, and the answer to its client.
import { Link } from "@tanstack/react-router";
import type { HeldCall, HeldState } from "../../api/schema";
import { StatusBadge } from "../../components/Badge";
import { LongText } from "../../components/LongText";
import { moment } from "../../format/times";
import { visible } from "../../text/visible";
import styles from "./Breakpoints.module.css";
import { useAnswer } from "./queries";

const WORDS: Record<HeldState, string> = {
  waiting: "Waiting for a decision.",
  continued: "Continued unchanged.",
  edited: "Continued with changes.",
  refused: "Refused.",
  cancelled: "The client disconnected before a decision.",
  expired: "Timed out.",
  lost: "The server stopped before a decision.",
};

export function HeldAnswer({ call }: { call: HeldCall }) {
  const goesOn = call.state !== "cancelled" && call.state !== "lost";
  const found = useAnswer(call.trace_id, goesOn);
  const answer = found.data?.data.find(
    (span) => span.kind === "model" && (span.output_preview || span.error),
  );
  return (
    <div className={styles.answer}>
      <p>
        {WORDS[call.state]}{" "}
        {call.state === "expired" &&
          (call.on_expiry === "refuse" ? "The call was refused." : "The call continued.")}{" "}
        {call.reason && <>“{visible(call.reason)}” </>}
        <span className={styles.quiet}>{moment(call.decided_us)}</span>{" "}
        <Link to="/traces/$traceId" params={{ traceId: call.trace_id }}>
          Trace
        </Link>
      </p>
      {answer && (
        <>
          <p className={styles.about}>
            Response to the client: <StatusBadge status={answer.status} />
          </p>
          <LongText text={answer.error ?? answer.output_preview ?? ""} first={2_000} />
        </>
      )}
    </div>
  );
}
