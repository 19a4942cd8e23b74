// The time left for a held call.
import { useEffect, useState } from "react";
import type { HeldSummary } from "../../api/schema";
import { duration } from "../../format/numbers";

export function Countdown({ held }: { held: Pick<HeldSummary, "expires_us" | "on_expiry"> }) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.max(0, Math.ceil(held.expires_us / 1e6 - now / 1e3));
  const then = held.on_expiry === "continue" ? "continues" : "is refused";
  return (
    <span title={`Then it ${then}.`}>
      {seconds < 60 ? `${seconds} s` : duration(seconds * 1e6)}, then {then}
    </span>
  );
}
