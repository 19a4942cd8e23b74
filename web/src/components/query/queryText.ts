// The query of a list: its text in the address, and what the server reads in it.
import { queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { client, ok } from "../../api/client";
import type { ParsedQuery, QueryTerm } from "../../api/schema";
import type { ListSearch } from "../table/listSearch";
import { useSearchChange } from "../table/useTableSearch";

/** What a text says, with the text itself: places in it mean nothing without. */
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

/** The text that the address has, and the way to change it. */
export function useQueryText(): { text: string; setText: (text: string) => void } {
  const search: ListSearch = useSearch({ strict: false });
  const change = useSearchChange();
  return {
    text: search.query ?? "",
    setText: (text) => change({ query: text.trim() || undefined }),
  };
}

/** What the text says; null until the server has read it. */
export function useParsed(text: string): Parsed | null {
  return useQuery(parsing(text)).data ?? null;
}

/** The same, with what the text before said until then, so that nothing shown of it flickers. */
export function useLastParsed(text: string): Parsed | null {
  return useQuery({ ...parsing(text), placeholderData: (last) => last }).data ?? null;
}

/** The text as lists ask by it: the last that could be read; null where none could. */
export function useReadableQuery(): string | null {
  const { text } = useQueryText();
  const parsed = useParsed(text);
  const [last, keep] = useState<string | null>(text === "" ? "" : null);
  const isReadable = text === "" || parsed?.problem === null;
  if (isReadable && last !== text) keep(text);
  return isReadable ? text : last;
}

/** Change the text by the terms in it. Several changes at once come one after the other. */
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
