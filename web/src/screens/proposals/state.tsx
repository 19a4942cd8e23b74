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
  staged: { sign: "…", tone: "accent", means: "Waiting for your decision. No file was changed." },
  applied: { sign: "✓", tone: "good", means: "The changes are in the files." },
  denied: { sign: "⊘", tone: "warn", means: "Denied. No file was changed." },
  conflicted: {
    sign: "⚠",
    tone: "bad",
    means: "The files have changed since the proposal. No file was changed by it.",
  },
  failed: { sign: "✕", tone: "bad", means: "Writing failed. No file was changed." },
  undone: { sign: "↶", tone: "plain", means: "The changes were applied and then undone." },
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
