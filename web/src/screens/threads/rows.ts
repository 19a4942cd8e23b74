// Values that the thread screens compute from rows of the server.
import type { Sums, ThreadSummary } from "../../api/schema";

export function titleOf(thread: ThreadSummary): string {
  return thread.title || thread.thread_id;
}

/** Input and output together; null if neither is known. */
export function tokensOf({ tokens }: Sums): number | null {
  if (tokens.input === null && tokens.output === null) return null;
  return (tokens.input ?? 0) + (tokens.output ?? 0);
}
