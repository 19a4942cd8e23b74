// What a run is called.
import type { RunSummary } from "../../api/schema";

/** The first words of what was asked; else its name. */
export function runTitle(run: Pick<RunSummary, "question" | "name" | "run_id">): string {
  return run.question?.trim() || run.name || run.run_id;
}
