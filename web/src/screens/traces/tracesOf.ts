// The traces of a run: a program that sends its run id with each of its calls creates several.
import type { ListedSpan, RunWithSpans } from "../../api/schema";
import { moment } from "../../format/times";
import { visible } from "../../text/visible";

export interface TraceChoice {
  id: string;
  name: string;
}

/** In order, as far as the loaded spans show them. */
export function tracesOf(run: Pick<RunWithSpans, "trace_id" | "spans">): TraceChoice[] {
  const firsts = new Map<string, ListedSpan>();
  for (const span of run.spans.data) {
    if (!firsts.has(span.trace_id)) firsts.set(span.trace_id, span);
  }
  const found = [...firsts].map(([id, first], place) => ({ id, name: named(first, place) }));
  if (firsts.has(run.trace_id)) return found;
  return [{ id: run.trace_id, name: "The trace of its root" }, ...found];
}

function named(first: ListedSpan, place: number): string {
  const name = first.name || first.operation;
  return `${place + 1}. ${visible(name.slice(0, 60))}, ${moment(first.start_us)}`;
}
