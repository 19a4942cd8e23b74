// The title of a run.
import type { RunSummary } from "../../api/schema";

/** The first words of the question, otherwise the name. */
export function runTitle(run: Pick<RunSummary, "question" | "name" | "run_id">): string {
  return run.question?.trim() || run.name || run.run_id;
}
