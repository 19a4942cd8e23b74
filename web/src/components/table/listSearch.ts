// The parameters of a list in the address: its query, order, columns and groups.
import { choice, text } from "../../search";

export const SORTS = ["time", "duration", "cost", "tokens"] as const;
export type Sort = (typeof SORTS)[number];
export const GROUP_SORTS = [
  "group",
  "spans",
  "calls",
  "errors",
  "tokens",
  "cost",
  "runs",
  "failed_runs",
  "cost_per_run",
  "p50",
  "p95",
] as const;
export type GroupSort = (typeof GROUP_SORTS)[number];
export type AnySort = Sort | GroupSort;
export const GROUPINGS = [
  "time",
  "model",
  "thread",
  "run",
  "label",
  "operation",
  "user",
  "release",
] as const;
/** A field, or a key of the metadata as the query language writes it. */
export type Grouping = (typeof GROUPINGS)[number] | `metadata.${string}`;

export function isMetadata(field: string): field is `metadata.${string}` {
  return field.startsWith("metadata.") && field.length > "metadata.".length;
}

export interface ListSearch {
  /** In the language of docs/trace-queries.md. */
  query?: string;
  sort?: Sort;
  /** "true": smallest first. */
  ascending?: "true";
  /** Names of the shown columns, separated by commas. */
  columns?: string;
  /** The id of the row that is shown next to the list. */
  peek?: string;
  /** "off": the list does not add new rows by itself. */
  live?: "off";
  group?: Grouping;
  /** The field by which each group is divided. */
  parts?: Grouping;
  groupSort?: GroupSort;
  /** "true": smallest first. */
  groupAscending?: "true";
  /** Seconds of a group by time. */
  bucket?: string;
}

export function listSearch(given: Readonly<Record<string, unknown>>): ListSearch {
  const sort = choice(given.sort, SORTS);
  const group = groupingOf(given.group);
  const parts = group && groupingOf(given.parts);
  const groupSort = choice(given.groupSort, GROUP_SORTS);
  return {
    ...text(given, ["query", "columns", "peek", "bucket"]),
    ...(sort ? { sort } : {}),
    ...(String(given.ascending) === "true" ? { ascending: "true" as const } : {}),
    ...(given.live === "off" ? { live: "off" as const } : {}),
    ...(group ? { group } : {}),
    ...(parts ? { parts } : {}),
    ...(groupSort ? { groupSort } : {}),
    ...(String(given.groupAscending) === "true" ? { groupAscending: "true" as const } : {}),
  };
}

/** The grouping with this name; undefined for another name. */
export function groupingOf(name: unknown): Grouping | undefined {
  const asked = String(name ?? "");
  return isMetadata(asked) ? asked : choice(asked, GROUPINGS);
}
