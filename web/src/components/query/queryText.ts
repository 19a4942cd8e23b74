// The query of a list: its text in the address, and its parsed form.
import { queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { client, ok } from "../../api/client";
import type { ParsedQuery, QueryTerm } from "../../api/schema";
import type { ListSearch } from "../table/listSearch";
import { useSearchChange } from "../table/useTableSearch";

/** A parsed text, with the text itself: positions refer to it. */
export type Parsed = ParsedQuery & { text: string };

export function parsing(text: string) {
  return queryOptions({
    queryKey: ["query", "parse", text],
    queryFn: async ({ signal }): Promise<Parsed> => {
      const asked = { params: { query: { query: text } }, signal };
      return { text, ...(await ok(client.GET("/api/v1/query/parse", asked))) };
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** The text in the address, and a function that changes it. */
export function useQueryText(): { text: string; setText: (text: string) => void } {
  const search: ListSearch = useSearch({ strict: false });
  const change = useSearchChange();
  return {
    text: search.query ?? "",
    setText: (text) => change({ query: text.trim() || undefined }),
  };
}

/** The parsed form of the text; null until the server has parsed it. */
export function useParsed(text: string): Parsed | null {
  return useQuery(parsing(text)).data ?? null;
}

/**
 * The same, with the parsed form of the previous text until then, so that the screen does not
 * flicker.
 */
export function useLastParsed(text: string): Parsed | null {
  return useQuery({ ...parsing(text), placeholderData: (last) => last }).data ?? null;
}

/** The text that lists use: the last valid one; null if there is none. */
export function useReadableQuery(): string | null {
  const { text } = useQueryText();
  const parsed = useParsed(text);
  const [last, keep] = useState<string | null>(text === "" ? "" : null);
  const isReadable = text === "" || parsed?.problem === null;
  if (isReadable && last !== text) keep(text);
  return isReadable ? text : last;
}

/** Changes the text by its terms. Simultaneous changes are applied one after the other. */
export function useQueryEdit() {
  const { text, setText } = useQueryText();
  const queries = useQueryClient();
  const newest = useRef(text);
  useEffect(() => {
    newest.current = text;
  }, [text]);
  return async (edit: (text: string, terms: readonly QueryTerm[]) => string): Promise<void> => {
    let read: Parsed;
    do {
      read = await queries.ensureQueryData(parsing(newest.current));
    } while (read.text !== newest.current);
    newest.current = edit(read.text, read.terms);
    setText(newest.current);
  };
}
