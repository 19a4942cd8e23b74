// How a proposal is, as a badge; and which of them are still open.
import type { ProposalState } from "../../api/schema";
import { Badge, type Tone } from "../../components/Badge";

export const STATES: readonly ProposalState[] = [
  "staged",
  "applied",
  "denied",
  "conflicted",
  "failed",
  "undone",
  "partly undone",
];

const LOOKS: Record<ProposalState, { sign: string; tone: Tone; means: string }> = {
  staged: { sign: "…", tone: "accent", means: "It waits for you; nothing is written." },
  applied: { sign: "✓", tone: "good", means: "It is written." },
  denied: { sign: "⊘", tone: "warn", means: "It was refused." },
  conflicted: { sign: "⚠", tone: "bad", means: "Its files have changed; nothing was written." },
  failed: { sign: "✕", tone: "bad", means: "It could not be written; every file is as it was." },
  undone: { sign: "↶", tone: "plain", means: "It was written, and taken back." },
  "partly undone": {
    sign: "↶",
    tone: "warn",
    means: "Some files are taken back; the others were changed since and are kept.",
  },
};

export function ProposalBadge({ state }: { state: ProposalState }) {
  const { sign, tone, means } = LOOKS[state];
  return (
    <Badge tone={tone} title={means}>
      <span aria-hidden="true">{sign}</span> {state}
    </Badge>
  );
}

/** Nothing is written, and all can still be decided. */
export function isOpen(state: ProposalState): boolean {
  return state === "staged" || state === "conflicted" || state === "failed";
}
