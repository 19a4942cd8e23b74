// The waiting calls with the time left, and the earlier ones.

import { Link } from "@tanstack/react-router";
import type { HeldState, HeldSummary } from "../../api/schema";
import { Badge, type Tone } from "../../components/Badge";
import { type PlainColumn, PlainTable } from "../../components/PlainTable";
import { ago, exactMoment } from "../../format/times";
import { cut, visible } from "../../text/visible";
import { Countdown } from "./Countdown";
import { isWaiting } from "./queries";

interface Props {
  calls: readonly HeldSummary[];
  chosen: string | undefined;
}

export function HeldTable({ calls, chosen }: Props) {
  return (
    <PlainTable
      label="Held calls"
      columns={COLUMNS}
      rows={calls}
      idOf={(each) => each.id}
      chosen={chosen}
    />
  );
}

const LOOKS: Record<HeldState, { sign: string; tone: Tone }> = {
  waiting: { sign: "…", tone: "accent" },
  continued: { sign: "✓", tone: "good" },
  edited: { sign: "✎", tone: "good" },
  refused: { sign: "⊘", tone: "warn" },
  cancelled: { sign: "⊘", tone: "plain" },
  expired: { sign: "!", tone: "warn" },
  lost: { sign: "✕", tone: "bad" },
};

export function HeldBadge({ state }: { state: HeldState }) {
  const { sign, tone } = LOOKS[state];
  return (
    <Badge tone={tone}>
      <span aria-hidden="true">{sign}</span> {state}
    </Badge>
  );
}

/** Programs choose these names: the table must survive long ones. */
function Shortened({ text }: { text: string }) {
  const { shown, left } = cut(text, 40);
  if (left === 0) return visible(shown);
  return <span title={visible(text)}>{visible(shown)}…</span>;
}

const COLUMNS: readonly PlainColumn<HeldSummary>[] = [
  {
    id: "call",
    name: "Call",
    isTitle: true,
    grows: true,
    cell: (each) => (
      <Link to="/breakpoints" search={{ held: each.id }} replace>
        {visible(each.model) || each.operation}
      </Link>
    ),
  },
  { id: "state", name: "State", cell: (each) => <HeldBadge state={each.state} /> },
  {
    id: "left",
    name: "Time left",
    align: "end",
    cell: (each) => isWaiting(each) && <Countdown held={each} />,
  },
  { id: "labels", name: "Labels", cell: (each) => <Shortened text={each.labels.join(", ")} /> },
  { id: "thread", name: "Thread", cell: (each) => <Shortened text={each.thread_id ?? ""} /> },
  {
    id: "at",
    name: "Held since",
    cell: (each) => <time title={exactMoment(each.at_us)}>{ago(each.at_us)}</time>,
  },
];
