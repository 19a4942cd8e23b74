// The state of a proposal as a badge, and which proposals are open.
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
  staged: { sign: "…", tone: "accent", means: "It waits for your decision. Nothing is written." },
  applied: { sign: "✓", tone: "good", means: "The changes are written." },
  denied: { sign: "⊘", tone: "warn", means: "It was denied." },
  conflicted: { sign: "⚠", tone: "bad", means: "Its files have changed. Nothing was written." },
  failed: { sign: "✕", tone: "bad", means: "Writing failed. Every file is unchanged." },
  undone: { sign: "↶", tone: "plain", means: "It was written and then undone." },
  "partly undone": {
    sign: "↶",
    tone: "warn",
    means: "Some files are restored. The others were changed later and are kept.",
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
