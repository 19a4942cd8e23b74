// The content of a span, read when it is selected. Neighbouring rows are read ahead.
import { queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { getJson } from "../../../api/client";
import type { Cut, Span, SpanContent } from "../../../api/schema";
import { FLAG, has, type Tree } from "../model/tree";

const AHEAD_MS = 400;

export function spanAddress(traceId: string, spanId: string): string {
  return `/api/v1/spans/${encodeURIComponent(traceId)}/${encodeURIComponent(spanId)}`;
}

/** `version` changes when the span is written again. */
function spanOptions(traceId: string, spanId: string, version: string) {
  return queryOptions({
    queryKey: ["span", traceId, spanId, version],
    queryFn: ({ signal }) => getJson<SpanContent>(spanAddress(traceId, spanId), signal),
    staleTime: 60_000,
    structuralSharing: false,
  });
}

function optionsAt(tree: Tree, place: number) {
  const version = `${tree.flags[place]} ${tree.durations[place]} ${tree.statuses[place]}`;
  return spanOptions(tree.traceId, tree.ids[place] ?? "", version);
}

export function useSpan(tree: Tree, place: number) {
  const queries = useQueryClient();
  const isThere = !has(tree, place, FLAG.missing);
  const read = useQuery({
    ...optionsAt(tree, place),
    enabled: isThere,
    // While a newer version of the same span loads, the older one stays.
    placeholderData: (before) => (before?.span.span_id === tree.ids[place] ? before : undefined),
  });
  const isRead = read.isSuccess;
  useEffect(() => {
    if (!isRead) return;
    const timer = setTimeout(() => {
      for (const next of [place + 1, place - 1]) {
        if (next < 0 || next >= tree.count || has(tree, next, FLAG.missing)) continue;
        void queries.prefetchQuery(optionsAt(tree, next));
      }
    }, AHEAD_MS);
    return () => clearTimeout(timer);
  }, [queries, tree, place, isRead]);
  return read;
}

/** The shortened parts of a value; undefined if it is complete. */
export function cutOf(content: SpanContent, ...path: (string | number)[]): Cut | undefined {
  return content.cut.find(
    (cut) => cut.path.length === path.length && cut.path.every((step, at) => step === path[at]),
  );
}

/** The first of the named attributes that exists. */
export function attribute(span: Span, ...names: string[]): unknown {
  return names.map((name) => span.attributes[name]).find((value) => value != null);
}
