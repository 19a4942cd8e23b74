// The figures of a span: time, tokens and cost, each with its parts.
import type { Span } from "../../../api/schema";
import { isObject } from "../../../components/messages/chat";
import { cost, count, duration, percent } from "../../../format/numbers";
import { exactMoment, moment } from "../../../format/times";
import { visible } from "../../../text/visible";
import styles from "./Detail.module.css";

type Fact = readonly [name: string, value: string, title?: string];

export function Facts({ span, isCounted }: { span: Span; isCounted: boolean }) {
  return (
    <dl className={styles.strip}>
      {[...times(span), ...who(span), ...tokens(span), ...money(span, isCounted)].map(
        ([name, value, title]) => (
          <div key={name} title={title}>
            <dt>{name}</dt>
            <dd>{visible(value.slice(0, 200))}</dd>
          </div>
        ),
      )}
    </dl>
  );
}

function times(span: Span): Fact[] {
  const took =
    span.end_us === null || span.end_us < span.start_us ? null : span.end_us - span.start_us;
  const first = span.time_to_first_token_us;
  const waited = span.attributes["treadle.approval.waited_us"];
  return [
    ["Started", moment(span.start_us), exactMoment(span.start_us)],
    ["Duration", duration(took)],
    ...(first === null ? [] : [["First token", duration(first)] as const]),
    ...(typeof waited === "number" ? [["Waited for approval", duration(waited)] as const] : []),
  ];
}

function who(span: Span): Fact[] {
  const reasons = span.attributes["gen_ai.response.finish_reasons"];
  const finish = Array.isArray(reasons) ? reasons.join(", ") : null;
  const stopped = span.attributes["treadle.stop_reason"];
  return [
    ...(span.model === null ? [] : [["Model", span.model] as const]),
    ...(span.provider === null ? [] : [["Provider", span.provider] as const]),
    ...(finish ? [["Finish reason", finish] as const] : []),
    ...(typeof stopped === "string" ? [["Stopped", stopped] as const] : []),
  ];
}

function tokens(span: Span): Fact[] {
  const { input, output, cached, cache_write, reasoning } = span.tokens;
  if (input === null && output === null) return [];
  const share = cached !== null && input ? `, ${percent(cached / input)}` : "";
  return [
    [
      "Input tokens",
      withParts(input, [
        cached !== null && `${count(cached)} cached${share}`,
        cache_write !== null && `${count(cache_write)} written to the cache`,
      ]),
    ],
    ["Output tokens", withParts(output, [reasoning !== null && `${count(reasoning)} reasoning`])],
  ];
}

/** "150 (53 cached, 35.3 %)". */
function withParts(tokens: number | null, parts: readonly (string | false)[]): string {
  const known = parts.filter(Boolean);
  return known.length > 0 ? `${count(tokens)} (${known.join("; ")})` : count(tokens);
}

const PRICED = {
  reported: "as reported",
  prices: "from the price table",
  base_model: "estimated from the price of the base model",
} as const;

function money(span: Span, isCounted: boolean): Fact[] {
  if (span.cost === null) return [];
  const source = span.cost_source === null ? "" : PRICED[span.cost_source];
  const about = isCounted ? source : `${source}; counted by another span`;
  const parts = span.attributes["gen_ai.usage.cost_details"];
  return [
    ["Cost", cost(span.cost), `$${span.cost}`],
    ...(about ? [["Cost source", about] as const] : []),
    ...(isObject(parts) ? [["Cost breakdown", JSON.stringify(parts)] as const] : []),
  ];
}
