// The duration of something, or the time since its start while it runs.
import { useEffect, useState } from "react";
import { duration } from "../format/numbers";
import { isRunning } from "./Badge";

interface Props {
  /** The status of the run or span. */
  status: string;
  /** The duration in microseconds, or null if it is unknown. */
  took: number | null;
  startUs: number;
  /** The time of its last span; the start if unknown. */
  lastUs?: number;
}

/** The duration. While the run or span runs, the time so far, which ticks. */
export function Took({ status, took, startUs, lastUs = startUs }: Props) {
  const runs = isRunning(status, lastUs);
  const seconds = useElapsed(runs ? startUs / 1_000 : null);
  return <>{seconds === null ? duration(took) : wholeSeconds(seconds)}</>;
}

/** 0 → "", 75 → "75 s": something that runs needs no fractions. */
export function wholeSeconds(seconds: number): string {
  return seconds === 0 ? "" : seconds < 100 ? `${seconds} s` : duration(seconds * 1e6);
}

/** Whole seconds since a moment in milliseconds; null without one. */
export function useElapsed(since: number | null): number | null {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (since === null) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [since]);
  return since === null ? null : Math.max(0, Math.floor((now - since) / 1_000));
}
