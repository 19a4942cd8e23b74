// What became of a held call, and what its client was answered.
import { Link } from "@tanstack/react-router";
import type { HeldCall, HeldState } from "../../api/schema";
import { StatusBadge } from "../../components/Badge";
import { LongText } from "../../components/LongText";
import { moment } from "../../format/times";
import { visible } from "../../text/visible";
import styles from "./Breakpoints.module.css";
import { useAnswer } from "./queries";

const WORDS: Record<HeldState, string> = {
  waiting: "It waits.",
  continued: "It went on as it was.",
  edited: "It went on changed.",
  refused: "It was refused.",
  cancelled: "Its client left before anybody decided.",
  expired: "Its time was up.",
  lost: "The server ended while it waited.",
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
          (call.on_expiry === "refuse" ? "It was refused." : "It went on.")}{" "}
        {call.reason && <>“{visible(call.reason)}” </>}
        <span className={styles.quiet}>{moment(call.decided_us)}</span>{" "}
        <Link to="/traces/$traceId" params={{ traceId: call.trace_id }}>
          Trace
        </Link>
      </p>
      {answer && (
        <>
          <p className={styles.about}>
            Its client was answered: <StatusBadge status={answer.status} />
          </p>
          <LongText text={answer.error ?? answer.output_preview ?? ""} first={2_000} />
        </>
      )}
    </div>
  );
}
