// Text search in a trace: in names here, in contents on the server.
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { client, ok } from "../../api/client";
import { written } from "../../components/query/editing";
import { placeOf, type Tree } from "./model/tree";

const MOST = 1_000;

export interface Found {
  /** The indexes of the matching spans, in order. */
  places: readonly number[];
  isFound: ReadonlySet<number>;
  /** The state of the search in contents. */
  contents: "none" | "searching" | "searched" | "failed";
  /** There are more matches in contents than were read. */
  more: boolean;
}

const NOTHING: Found = { places: [], isFound: new Set(), contents: "none", more: false };

export function useFind(tree: Tree, text: string): Found {
  const words = text.trim();
  const hits = useQuery({
    queryKey: ["find in trace", tree.traceId, words],
    queryFn: ({ signal }) =>
      ok(
        client.GET("/api/v1/search", {
          params: { query: { q: words, query: `trace:${written(tree.traceId)}`, limit: MOST } },
          signal,
        }),
      ),
    enabled: words !== "",
    retry: false,
  });
  return useMemo(() => {
    if (words === "") return NOTHING;
    const inContents = (hits.data?.data ?? []).map((hit) => placeOf(tree, hit.span_id));
    const isFound = new Set([...inNames(tree, words), ...inContents.filter((at) => at >= 0)]);
    return {
      places: [...isFound].sort((one, other) => one - other),
      isFound,
      contents: hits.isError ? "failed" : hits.data ? "searched" : "searching",
      more: hits.data?.pagination.next_cursor != null,
    };
  }, [tree, words, hits.data, hits.isError]);
}

/** Those whose name, model, kind or id contains the text, ignoring case. */
export function inNames(tree: Tree, words: string): number[] {
  const wanted = words.toLowerCase();
  const fits = tree.texts.map((text) => text.toLowerCase().includes(wanted));
  const places: number[] = [];
  for (let place = 0; place < tree.count; place += 1) {
    const named = [tree.names, tree.models, tree.kinds].some(
      (column) => fits[column[place] ?? -1] === true,
    );
    if (named || tree.ids[place] === words) places.push(place);
  }
  return places;
}

/** The next of some indexes after or before another one, wrapping around. */
export function nextOf(places: readonly number[], from: number, back: boolean): number | undefined {
  if (back) return places.findLast((place) => place < from) ?? places.at(-1);
  return places.find((place) => place > from) ?? places[0];
}
