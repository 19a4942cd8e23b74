// Groups and the query: the title of a group, and the query narrowed to it.
import type { DurationsOf, Group, QueryTerm } from "../../api/schema";
import { appended, replaced, written } from "../../components/query/editing";
import type { Grouping } from "../../components/table/listSearch";
import { dayInUtc, moment } from "../../format/times";

export const BUCKETS = [
  { id: "60", name: "by minute" },
  { id: "600", name: "by 10 minutes" },
  { id: "3600", name: "by hour" },
  { id: "86400", name: "by day" },
  { id: "604800", name: "by week" },
] as const;
const USUAL_BUCKET = 3_600;
const DAY = 86_400;
const MOST_BUCKET = 366 * DAY;

/** The length of a group by time in seconds, from the address. */
export function bucketOf(text: string | undefined): number {
  const seconds = Number(text);
  return Number.isInteger(seconds) && seconds >= 1 && seconds <= MOST_BUCKET
    ? seconds
    : USUAL_BUCKET;
}

/** "Cost by hour". */
export function bucketName(seconds: number): string {
  return BUCKETS.find((bucket) => bucket.id === String(seconds))?.name ?? `by ${seconds} s`;
}

/** Relative to it, each moment has its day and its year: a list of days needs them. */
const EPOCH = 0;

/** The name of a group. Groups of whole days begin at midnight in UTC, so their name is a day. */
export function groupName(by: Grouping, { value, name }: Named, bucketSeconds: number): string {
  if (by === "time") {
    return bucketSeconds % DAY === 0 ? dayInUtc(Number(value)) : moment(Number(value), EPOCH);
  }
  if (name) return name;
  return String(value) === "" ? `(no ${by})` : String(value);
}

interface Named extends Pick<Group, "value"> {
  name?: string | undefined;
}

const MEASURED: Record<DurationsOf, string> = { runs: "Run", calls: "Call", spans: "Span" };

/** "Call p50": a percentile, with what its durations measure. */
export function percentileName(
  percentile: "p50" | "p95",
  durationsOf: DurationsOf | null | undefined,
): string {
  return durationsOf ? `${MEASURED[durationsOf]} ${percentile}` : percentile;
}

export interface Narrowing {
  text: string;
  /** The parsed form of the text. */
  terms: readonly QueryTerm[];
  by: Grouping;
  bucketSeconds: number;
  /** Milliseconds, for times such as `2h`. */
  now: number;
}

/** The query narrowed to a group. */
export function narrowed({ value }: Pick<Group, "value">, asked: Narrowing): string {
  const { text, terms, by } = asked;
  if (by === "time") return inTime(Number(value) / 1_000, asked);
  const name = String(value);
  if (name === "") return appended(text, `-${by}:*`);
  const others = terms.filter((term) => term.field === by && !term.negated);
  if (by === "label") {
    // A span may have several: labels that the query already required must stay.
    const isThere = others.some(
      (term) => term.values.length === 1 && term.values[0]?.text === name,
    );
    return isThere ? text : appended(text, `label:${written(name)}`);
  }
  // This group met the other terms too, so this term alone is equivalent.
  return replaced(text, terms, [by], `${by}:${written(name)}`);
}

/** Times in the text are kept if they cut off a part of the group. */
function inTime(startMs: number, { text, terms, bucketSeconds, now }: Narrowing): string {
  let since = startMs;
  let until = startMs + bucketSeconds * 1_000;
  const read: QueryTerm[] = [];
  for (const term of terms) {
    const bounds = boundsOf(term, now);
    if (!bounds) continue;
    read.push(term);
    since = Math.max(since, bounds.since);
    until = Math.min(until, bounds.until);
  }
  const rest = read.reduceRight(
    (left, { start, end }) => `${left.slice(0, start).trimEnd()} ${left.slice(end).trimStart()}`,
    text,
  );
  return appended(rest.trim(), `since:${iso(since)} until:${iso(until)}`);
}

const UNITS: Record<string, number> = {
  s: 1_000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
};
const CALENDAR_DAYS = new Set(["today", "yesterday"]);
const PERIODS: Record<string, number> = {
  last_hour: 3_600_000,
  last_day: 86_400_000,
  last_week: 7 * 86_400_000,
  last_month: 30 * 86_400_000,
};

/**
 * The length with which groups divided by time begin: a day if the period of the query is longer
 * than two days. Undefined: the usual length.
 */
export function bucketOfPeriod(terms: readonly QueryTerm[], now: number): string | undefined {
  let since = Number.NEGATIVE_INFINITY;
  let until = now;
  for (const term of terms) {
    if (term.field === "period" && CALENDAR_DAYS.has(term.values[0]?.text ?? "")) return undefined;
    const bounds = boundsOf(term, now);
    if (!bounds) continue;
    since = Math.max(since, bounds.since);
    until = Math.min(until, bounds.until);
  }
  return until - since > 2 * DAY * 1_000 ? String(DAY) : undefined;
}

/** The range of a term about time; null for other terms. */
function boundsOf(term: QueryTerm, now: number): { since: number; until: number } | null {
  const [only, ...others] = term.values;
  if (!only || others.length > 0 || term.negated || term.operator !== ":") return null;
  const always = { since: Number.NEGATIVE_INFINITY, until: Number.POSITIVE_INFINITY };
  if (term.field === "period") {
    const length = PERIODS[only.text];
    return length === undefined ? null : { ...always, since: now - length };
  }
  if (term.field !== "since" && term.field !== "until") return null;
  const at = momentOf(only.text, now);
  return at === null ? null : { ...always, [term.field]: at };
}

function momentOf(text: string, now: number): number | null {
  const [, amount, unit] = /^(\d+)(s|m|min|h|d|w)$/.exec(text) ?? [];
  if (amount && unit) return now - Number(amount) * (UNITS[unit] ?? 0);
  // A time with its offset. The server reads other times in UTC, the page would read them as local
  // time.
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/.test(text)) return null;
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : at;
}

function iso(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace(/\.000Z$/, "Z");
}
