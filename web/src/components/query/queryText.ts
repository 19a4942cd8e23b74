// The query of a list: its text in the address, and what the server reads in it.
import { queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { client, ok } from "../../api/client";
import type { ParsedQuery, QueryTerm } from "../../api/schema";
import type { ListSearch } from "../../screens/searches";
import { useSearchChange } from "../table/useTableSearch";

export function parsing(text: string) {
  return queryOptions({
    queryKey: ["query", "parse", text],
    queryFn: ({ signal }): Promise<ParsedQuery> =>
      ok(client.GET("/api/v1/query/parse", { params: { query: { query: text } }, signal })),
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
export function useParsed(text: string): ParsedQuery | null {
  return useQuery(parsing(text)).data ?? null;
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

/** Change the text by the terms in it. */
export function useQueryEdit() {
  const { text, setText } = useQueryText();
  const queries = useQueryClient();
  return async (edit: (text: string, terms: readonly QueryTerm[]) => string): Promise<void> => {
    const { terms } = await queries.ensureQueryData(parsing(text));
    setText(edit(text, terms));
  };
}
