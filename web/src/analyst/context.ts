// What the person currently sees, as the analyst receives it. It is read from the address only.
import type { PageContext } from "../api/schema";
import { idsIn } from "../format/spanKey";

export type ChipKind = "thread" | "run" | "trace" | "span" | "label" | "experiment";

export interface Chip {
  kind: ChipKind;
  /** The id, or the label. */
  value: string;
}

export interface Place {
  /** As in the address: the parts are percent-encoded. */
  pathname: string;
  search: Readonly<Record<string, unknown>>;
}

/** The chips of a screen. `labels` are those of its query. */
export function chipsOf({ pathname, search }: Place, labels: readonly string[]): readonly Chip[] {
  const [, screen = "", encoded = ""] = pathname.split("/");
  const id = decoded(encoded);
  const text = (name: string) => (typeof search[name] === "string" ? search[name] : "");
  const found: [ChipKind, string][] = [];
  switch (screen) {
    case "threads":
      found.push(["thread", id || text("peek")], ["run", text("run")]);
      break;
    case "runs":
      found.push(["run", id || text("peek")], ["span", text("span")]);
      break;
    case "traces": {
      const beside = idsIn(text("peek"));
      found.push(["trace", id || (beside?.trace_id ?? "")]);
      found.push(["span", id ? text("span") : (beside?.span_id ?? "")]);
      break;
    }
    case "sessions":
      found.push(["thread", id]); // a conversation is recorded as the thread of its id
      break;
    case "experiments":
      if (id === "new") found.push(["trace", text("trace")], ["span", text("span")]);
      else found.push(["experiment", id]);
      break;
  }
  return [
    ...found.filter(([, value]) => value !== "").map(([kind, value]) => ({ kind, value })),
    ...labels.map((value) => ({ kind: "label" as const, value })),
  ];
}

export function contextOf(pathname: string, chips: readonly Chip[]): PageContext {
  const first = (kind: ChipKind) => chips.find((chip) => chip.kind === kind)?.value ?? null;
  return {
    page: pathname.slice(0, 2_000),
    thread_id: first("thread"),
    run_id: first("run"),
    trace_id: first("trace"),
    span_id: first("span"),
    experiment_id: first("experiment"),
    labels: chips.filter((chip) => chip.kind === "label").map((chip) => chip.value),
  };
}

export function sameChip(one: Chip, other: Chip): boolean {
  return one.kind === other.kind && one.value === other.value;
}

/** Questions that match what is open. The most specific chip decides. */
export function suggestionsFor(chips: readonly Chip[]): readonly string[] {
  const has = (kind: ChipKind) => chips.some((chip) => chip.kind === kind);
  if (has("experiment")) {
    return [
      "How do the results of this experiment compare?",
      "What could be changed to make this call cheaper?",
      "Run this experiment and report the results.",
    ];
  }
  if (has("span")) {
    return [
      "What went wrong in this span?",
      "Why did this take so long?",
      "Open an experiment with this call.",
    ];
  }
  if (has("trace") || has("run")) {
    return [
      "What went wrong in this run?",
      "Which steps were slow, and why?",
      "Where did the cost go?",
    ];
  }
  if (has("thread")) {
    return [
      "What went wrong in this thread?",
      "Why is this thread slow?",
      "What did this thread cost, by run?",
    ];
  }
  if (has("label")) {
    const labels = chips.filter((chip) => chip.kind === "label").map((chip) => chip.value);
    return [
      `What went wrong in runs with the label ${labels[0]}?`,
      labels.length > 1
        ? `Compare the labels ${labels[0]} and ${labels[1]}.`
        : "Which labels exist?",
      "Clear the label filter.",
    ];
  }
  return ["What went wrong in the last hour?", "What costs most?", "Which labels exist?"];
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
