// How a turn ended, as a badge.
import type { StopReason } from "../../api/schema";
import { Badge, type Tone } from "../../components/Badge";

export function StopBadge({ reason }: { reason: StopReason | null }) {
  const [sign, tone, words] = lookOf(reason);
  return (
    <Badge tone={tone}>
      <span aria-hidden="true">{sign}</span> {words}
    </Badge>
  );
}

function lookOf(reason: StopReason | null): [sign: string, tone: Tone, words: string] {
  switch (reason) {
    case null:
      return ["…", "accent", "unfinished"];
    case "completed":
      return ["✓", "good", "completed"];
    case "failed":
      return ["✕", "bad", "failed"];
    case "cancelled":
      return ["⊘", "warn", "cancelled"];
    default:
      return ["!", "warn", reason.replaceAll("_", " ")];
  }
}
