// The figures of a comparison as text.
import * as numbers from "../../../format/numbers";
import type { Comparison, Difference, Item, Outcome, Run, VariantComparison } from "../queries";
import type { Json } from "../request/json";

export type Figure =
  | "cost"
  | "tokens"
  | "input_tokens"
  | "output_tokens"
  | "duration_us"
  | "ttft_us";

export const FIGURES: readonly {
  id: Figure;
  name: string;
  format: (value: number | null) => string;
}[] = [
  { id: "cost", name: "Cost", format: numbers.cost },
  { id: "tokens", name: "Tokens", format: rounded },
  { id: "input_tokens", name: "Input tokens", format: rounded },
  { id: "output_tokens", name: "Output tokens", format: rounded },
  { id: "duration_us", name: "Duration", format: numbers.duration },
  { id: "ttft_us", name: "Time to first token", format: numbers.duration },
];

function rounded(value: number | null): string {
  if (value === null) return numbers.UNKNOWN;
  return numbers.count(Math.abs(value) < 1 ? value : Math.round(value));
}

/** A difference with its sign: "+12", "−1.20 s". */
export function signed(value: number | null, format: (value: number | null) => string): string {
  if (value === null) return numbers.UNKNOWN;
  if (value === 0) return format(0);
  return `${value > 0 ? "+" : "−"}${format(Math.abs(value))}`;
}

/** −48.4 → "−48.4 %". */
export function percentage(value: number | null): string {
  if (value === null) return numbers.UNKNOWN;
  return `${value > 0 ? "+" : ""}${numbers.percent(value / 100)}`;
}

/** A sentence of the server with the minus sign of the figures: "Tokens −48.4 % (n = 5)." */
export function withMinus(sentence: string): string {
  return sentence.replace(/ -(?=[\d.]+ %)/g, " −");
}

/** Why there is no percentage; null if there is one. */
export function whyUnknown(found: Difference): string | null {
  if (found.percent !== null) return null;
  if (found.n === 0) return "Unknown for every pair.";
  return found.base === 0 ? "The base is 0, so there is no percentage." : "The base is unknown.";
}

/** Why there is no interval; null if there is one. */
export function whyNoInterval(found: Difference): string | null {
  if (found.low !== null || found.n === 0) return null;
  return "An interval needs at least 5 pairs.";
}

export function median(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null).toSorted((one, other) => one - other);
  const middle = Math.floor(known.length / 2);
  const upper = known[middle];
  if (upper === undefined) return null;
  const lower = known[middle - 1];
  return known.length % 2 === 1 || lower === undefined ? upper : (lower + upper) / 2;
}

export const RECORDED = "recorded";

/** The figures of a variant, or of the recorded calls. Failed runs have none. */
export function outcomesOf(
  variant: string,
  runs: readonly Run[],
  items: readonly Item[],
): Outcome[] {
  const found: Outcome[] =
    variant === RECORDED
      ? items.map((item) => item.recorded)
      : runs.filter((run) => run.variant === variant);
  return found.filter((outcome) => outcome.error === null);
}

/** Half the length of an axis on which all these differences fit. */
export function reachOf(differences: readonly Difference[]): number {
  return Math.max(
    0,
    ...differences.flatMap(({ mean, low, high }) => [mean, low, high].map((x) => Math.abs(x ?? 0))),
  );
}

/** The page's answer to a tool that asks for the comparison: the last variant against the base. */
export function toldResults(comparison: Comparison, runs: readonly Run[], items: readonly Item[]) {
  const compared = comparison.variants.at(-1);
  if (!compared) return { hasResults: false };
  return {
    hasResults: true,
    original: sideOf(comparison.base, compared, "base", outcomesOf(comparison.base, runs, items)),
    new: sideOf(compared.variant, compared, "new", outcomesOf(compared.variant, runs, items)),
    comparison: {
      verdict: compared.verdict,
      why: compared.why,
      n: compared.pairs,
      failed: compared.failed,
      cost_change_percent: compared.cost.percent,
      tokens_change_percent: compared.tokens.percent,
      duration_change_percent: compared.duration_us.percent,
      differences: Object.fromEntries(
        FIGURES.map(({ id }) => {
          const { n, mean, low, high } = compared[id];
          return [id, { n, mean, low, high }];
        }),
      ),
    } satisfies Json,
  };
}

function sideOf(
  variant: string,
  compared: VariantComparison,
  side: "base" | "new",
  outcomes: readonly Outcome[],
): Json {
  const first = outcomes[0];
  return {
    variant,
    output: first?.content ?? null,
    model: first?.model ?? null,
    ...Object.fromEntries(FIGURES.map(({ id }) => [id, compared[id][side]])),
  };
}
