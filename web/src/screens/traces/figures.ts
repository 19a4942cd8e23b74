// Figures of runs and spans in their lists.
import type { Usage } from "../../api/schema";
import { shortCount, UNKNOWN } from "../../format/numbers";

/** "39.3K → 772": tokens in and out. */
export function inAndOut({ input, output }: Pick<Usage, "input" | "output">): string {
  if (input === null && output === null) return UNKNOWN;
  return `${shortCount(input)} → ${shortCount(output)}`;
}

/** "tenant=acme, seats=5". */
export function metadataText(metadata: Readonly<Record<string, string>>): string {
  return Object.entries(metadata)
    .map(([key, value]) => `${key}=${value}`)
    .join(", ");
}
