// Reads the skeleton of a trace as soon as its address is known, while the screen's own script
// still loads.
import { getJson } from "../../api/client";
import type { Skeleton } from "../../api/schema";

const begun = new Map<string, Promise<Skeleton>>();

export function beginSkeleton(traceId: string): void {
  if (begun.has(traceId)) return;
  const reading = getJson<Skeleton>(addressOf(traceId));
  begun.set(traceId, reading);
  // Whoever takes it hears of a failure; where nobody does, it is forgotten with what was read.
  reading.catch(() => {});
  setTimeout(() => begun.delete(traceId), 10_000);
}

/** What was begun, once; else it is read now. */
export function readSkeleton(traceId: string, signal: AbortSignal): Promise<Skeleton> {
  const reading = begun.get(traceId);
  begun.delete(traceId);
  return reading ?? getJson<Skeleton>(addressOf(traceId), signal);
}

const addressOf = (traceId: string): string => `/api/v1/traces/${encodeURIComponent(traceId)}`;
