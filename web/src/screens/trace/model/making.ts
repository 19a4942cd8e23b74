// Skeletons for tests: small ones by hand, and random ones of any shape.
import type { Skeleton } from "../../../api/schema";

export interface MadeSpan {
  id?: string;
  name?: string;
  kind?: string;
  status?: string;
  depth: number;
  /** null: a parent that never arrived. */
  start: number | null;
  duration?: number | null;
  cost?: number | null;
  flags?: number;
}

/** As the server arranges them: each below the nearest preceding one of lower depth. */
export function skeletonOf(spans: readonly MadeSpan[]): Skeleton {
  const texts: string[] = [];
  const text = (value: string) => {
    if (!texts.includes(value)) texts.push(value);
    return texts.indexOf(value);
  };
  const open: number[] = [];
  const parents = spans.map((span, place) => {
    open.length = span.depth;
    const parent = open.at(-1) ?? -1;
    open.push(place);
    return parent;
  });
  const ends = spans.map((span) => (span.start ?? 0) + (span.duration ?? 0));
  return {
    trace_id: "trace",
    run_id: "run",
    thread_id: "thread",
    start_us: 1_000,
    last_us: 1_000 + Math.max(...ends, 1),
    root: 0,
    labels: [],
    user: null,
    release: null,
    metadata: {},
    revision: 1,
    texts,
    columns: {
      span_ids: spans.map((span, place) => span.id ?? `span ${place}`),
      parents,
      depths: spans.map((span) => span.depth),
      names: spans.map((span, place) =>
        span.start === null ? -1 : text(span.name ?? `n ${place}`),
      ),
      kinds: spans.map((span) => text(span.kind ?? "other")),
      operations: spans.map(() => text("work")),
      models: spans.map(() => -1),
      statuses: spans.map((span) => text(span.status ?? "ok")),
      starts: spans.map((span) => span.start),
      durations: spans.map((span) => (span.start === null ? null : (span.duration ?? 0))),
      first_tokens: spans.map(() => null),
      input_tokens: spans.map(() => null),
      output_tokens: spans.map(() => null),
      costs: spans.map((span) => span.cost ?? null),
      flags: spans.map((span) => span.flags ?? (span.start === null ? 2 : 0)),
    },
  };
}

/** A seeded generator: the same numbers in every run. */
export function random(seed: number): () => number {
  let state = seed * 2_654_435_761 + 1;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0;
    return (state >>> 0) / 2 ** 32;
  };
}

export function randomSkeleton(seed: number, most = 60): Skeleton {
  const next = random(seed);
  const spans: MadeSpan[] = [];
  const count = 1 + Math.floor(next() * most);
  let depth = 0;
  for (let place = 0; place < count; place += 1) {
    depth = place === 0 ? 0 : Math.floor(next() * (depth + 2));
    const start = next() < 0.05 ? null : Math.floor(next() * 1_000);
    spans.push({ depth, start, duration: Math.floor(next() * 500) });
  }
  return skeletonOf(spans);
}
