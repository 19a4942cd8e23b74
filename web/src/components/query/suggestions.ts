// Suggestions at the caret: names, operators, and values with their counts.
import { useQuery } from "@tanstack/react-query";
import { client, ok } from "../../api/client";
import type { QueryField } from "../../api/schema";
import { written } from "./editing";
import type { Writing } from "./typing";

export interface Suggestion {
  id: string;
  /** The text that replaces the current word. */
  put: string;
  shown: string;
  about: string;
  count: number | null;
}

const MOST = 12;
const EXAMPLES: Record<string, readonly string[]> = {
  cost: ["0.001", "0.01", "0.1", "1"],
  duration: ["500ms", "1s", "10s", "1m"],
  count: ["100", "1k", "10k", "100k"],
  moment: ["1h", "24h", "7d", "today", "yesterday"],
};

/** All names of the query language. Keys of the metadata are read again after a minute. */
export function useQueryFields(): readonly QueryField[] {
  const fields = useQuery({
    queryKey: ["query", "fields"],
    queryFn: ({ signal }) => ok(client.GET("/api/v1/query/fields", { signal })),
    staleTime: 60_000,
  });
  return fields.data?.data ?? [];
}

/** Names with the prefix, then words that are a value of a field. */
export function namesFor(fields: readonly QueryField[], begun: string): Suggestion[] {
  const wanted = begun.toLowerCase();
  const named = fields.filter((field) =>
    [field.name, ...field.aliases].some((name) => name.toLowerCase().startsWith(wanted)),
  );
  const exact = named.find((field) => field.name.toLowerCase() === wanted);
  const operators = (exact?.operators ?? []).map((operator) => ({
    id: `${exact?.name}${operator}`,
    put: `${exact?.name}${operator}`,
    shown: `${exact?.name}${operator}`,
    about: OPERATORS[operator] ?? "",
    count: null,
  }));
  const names = named
    .filter((field) => field !== exact)
    .map((field) => ({
      id: field.name,
      put: `${field.name}${field.operators.includes(">") ? ">" : ":"}`,
      shown: field.name,
      about: field.description,
      count: null,
    }));
  return [...operators, ...names, ...(wanted ? choicesFor(fields, wanted) : [])];
}

const OPERATORS: Record<string, string> = {
  ":": "is, or is in a range such as 1..5",
  ">": "more than",
  ">=": "at least",
  "<": "less than",
  "<=": "at most",
};

function choicesFor(fields: readonly QueryField[], wanted: string): Suggestion[] {
  return fields.flatMap((field) =>
    field.choices
      .filter((choice) => choice.startsWith(wanted))
      .map((choice) => ({
        id: `${field.name}:${choice}`,
        put: `${field.name}:${choice}`,
        shown: `${field.name}:${choice}`,
        about: field.description,
        count: null,
      })),
  );
}

/** Values of the current field, among the rows that match the rest of the query. */
export function useValues(
  fields: readonly QueryField[],
  text: string,
  writing: Writing,
  enabled: boolean,
): { values: Suggestion[]; isLoading: boolean } {
  const field = fields.find(
    (each) => each.name === writing.field || each.aliases.includes(writing.field),
  );
  const isListed = writing.what === "value" && field?.listed === true;
  const rest = `${text.slice(0, writing.termStart)} ${text.slice(writing.termEnd)}`.trim();
  const asked = useQuery({
    queryKey: ["query", "values", field?.name, writing.begun, rest],
    queryFn: async ({ signal }) => {
      const query = { field: field?.name ?? "", prefix: writing.begun, limit: MOST };
      const ask = (left: string) =>
        ok(
          client.GET("/api/v1/query/values", {
            params: { query: left ? { ...query, query: left } : query },
            signal,
          }),
        );
      // The rest of the query may be incomplete too. Then its rows are unknown.
      return rest ? await ask(rest).catch(() => ask("")) : await ask("");
    },
    enabled: enabled && isListed,
    placeholderData: (last) => (last?.field === field?.name ? last : undefined),
  });
  if (writing.what !== "value" || !field) return { values: [], isLoading: false };
  if (!isListed) return { values: examplesFor(field, writing.begun), isLoading: false };
  const values = (asked.data?.values ?? []).map((each) => ({
    id: each.value,
    put: each.written,
    shown: each.value === "" ? '""' : each.value,
    about: "",
    count: each.count,
  }));
  return { values, isLoading: asked.isFetching };
}

function examplesFor(field: QueryField, begun: string): Suggestion[] {
  const examples = field.choices.length > 0 ? field.choices : (EXAMPLES[field.takes] ?? []);
  return examples
    .filter((example) => example.startsWith(begun.toLowerCase()))
    .map((example) => ({
      id: example,
      put: written(example),
      shown: example,
      about: field.choices.length > 0 ? "" : "for example",
      count: null,
    }));
}
