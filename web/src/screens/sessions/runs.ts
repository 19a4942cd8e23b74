// Which run of a conversation's thread belongs to a saved turn.
import type { RunSummary } from "../../api/schema";
import type { BranchTurn } from "./branches";

const SLACK_US = 50_000;

/**
 * A message is saved soon after its run began, so it belongs to the last run that had begun by
 * then.
 */
export function runOf(turn: BranchTurn, runs: readonly RunSummary[]): RunSummary | null {
  const at = turn.question?.at_us;
  if (at === undefined) return null;
  return runs
    .filter((run) => run.start_us <= at + SLACK_US)
    .reduce<RunSummary | null>(
      (last, run) => (last === null || run.start_us > last.start_us ? run : last),
      null,
    );
}
