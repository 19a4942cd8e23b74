// Edits of a query's text, by the terms that the server parsed. The text is the only state of bar
// and facets, so other terms stay unchanged.
import type { QueryTerm } from "../../api/schema";

/** The values that a field is filtered by, from terms of a simple form. */
export function chosenValues(terms: readonly QueryTerm[], field: string): ReadonlySet<string> {
  const plain = terms.filter((term) => isPlain(term, field));
  return new Set(plain.flatMap((term) => term.values.map((value) => value.text)));
}

/**
 * The text with a value of a field added or removed. One of several values of a field must match.
 */
export function toggled(
  text: string,
  terms: readonly QueryTerm[],
  field: string,
  value: string,
): string {
  const holders = terms.filter((term) => isPlain(term, field));
  if (!chosenValues(terms, field).has(value)) {
    const last = holders.at(-1);
    if (!last) return appended(text, `${field}:${written(value)}`);
    return `${text.slice(0, last.end)},${written(value)}${text.slice(last.end)}`;
  }
  let edited = text;
  for (const term of holders.toReversed()) {
    if (term.values.some((each) => each.text === value)) edited = without(edited, term, value);
  }
  return edited;
}

/** The excluded values of a field: each has its own term. */
export function leftOut(terms: readonly QueryTerm[], field: string): ReadonlySet<string> {
  return new Set(terms.flatMap((term) => (isLeavingOut(term, field) ? textsOf(term) : [])));
}

/**
 * The text with a value of a field excluded, or no longer excluded. An excluded value is not
 * selected as well.
 */
export function toggledOut(
  text: string,
  terms: readonly QueryTerm[],
  field: string,
  value: string,
): string {
  const out = terms.filter((term) => isLeavingOut(term, field) && textsOf(term)[0] === value);
  if (out.length > 0) {
    return out.reduceRight((left, term) => cut(left, term.start, term.end), text);
  }
  const rest = chosenValues(terms, field).has(value) ? toggled(text, terms, field, value) : text;
  return appended(rest, `-${field}:${written(value)}`);
}

const textsOf = (term: QueryTerm) => term.values.map((value) => value.text);

function isLeavingOut(term: QueryTerm, field: string): boolean {
  return term.negated && term.values.length === 1 && isPlain({ ...term, negated: false }, field);
}

/** The text without the terms of these fields, and with the replacement. */
export function replaced(
  text: string,
  terms: readonly QueryTerm[],
  fields: readonly string[],
  put: string,
): string {
  const rest = terms
    .filter((term) => fields.includes(term.field))
    .reduceRight((left, term) => cut(left, term.start, term.end), text);
  return put ? appended(rest, put) : rest;
}

/** The text with exactly these labels, one of which must be present. */
export function withLabels(
  text: string,
  terms: readonly QueryTerm[],
  labels: readonly string[],
): string {
  const rest = terms
    .filter((term) => isPlain(term, "label"))
    .reduceRight((left, term) => cut(left, term.start, term.end), text);
  return labels.length > 0 ? appended(rest, `label:${labels.map(written).join(",")}`) : rest;
}

export function appended(text: string, term: string): string {
  const before = text.trimEnd();
  return before ? `${before} ${term}` : term;
}

/** A value in the syntax of the query: in quotes if needed. */
export function written(value: string): string {
  if (/^[^\s",*?\\<>=][^\s",*?\\]*$/.test(value)) return value;
  return `"${value.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}

function isPlain(term: QueryTerm, field: string): boolean {
  return (
    term.field === field &&
    term.operator === ":" &&
    !term.negated &&
    term.values.every((value) => !value.wildcard)
  );
}

function without(text: string, term: QueryTerm, value: string): string {
  const kept = term.values.filter((each) => each.text !== value);
  const first = term.values[0];
  if (kept.length === 0 || !first) return cut(text, term.start, term.end);
  const values = kept.map((each) => text.slice(each.start, each.end)).join(",");
  return text.slice(0, first.start) + values + text.slice(term.end);
}

function cut(text: string, start: number, end: number): string {
  const before = text.slice(0, start).trimEnd();
  const behind = text.slice(end).trimStart();
  return before && behind ? `${before} ${behind}` : before + behind;
}
