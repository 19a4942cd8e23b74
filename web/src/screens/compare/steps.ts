// The steps of a comparison as the screen shows them: equal steps in a row become one entry.
import type { Aspect, ComparedStep, TraceComparison } from "../../api/schema";

export type Entry =
  | { kind: "step"; place: number; step: ComparedStep }
  | { kind: "equal"; place: number; steps: readonly ComparedStep[] };

export function isEqual(step: ComparedStep): boolean {
  return step.a !== null && step.b !== null && step.changes.length === 0;
}

/** The entries in order. */
export function entriesOf(steps: readonly ComparedStep[]): Entry[] {
  const entries: Entry[] = [];
  let equal: ComparedStep[] = [];
  const end = (place: number) => {
    if (equal.length > 0)
      entries.push({ kind: "equal", place: place - equal.length, steps: equal });
    equal = [];
  };
  steps.forEach((step, place) => {
    if (isEqual(step)) {
      equal.push(step);
      return;
    }
    end(place);
    entries.push({ kind: "step", place, step });
  });
  end(steps.length);
  return entries;
}

/** "3 of 12 steps differ, 1 only in A, 2 only in B": how the steps differ. */
export function stepsInWords({ steps }: Pick<TraceComparison, "steps">): string {
  const onlyA = steps.filter((step) => step.b === null).length;
  const onlyB = steps.filter((step) => step.a === null).length;
  const differ = steps.filter((step) => step.changes.length > 0).length;
  if (onlyA + onlyB + differ === 0) {
    return "All steps are equal, except for their durations";
  }
  return [
    `${differ} of ${steps.length} steps ${differ === 1 ? "differs" : "differ"}`,
    ...(onlyA > 0 ? [`${onlyA} only in A`] : []),
    ...(onlyB > 0 ? [`${onlyB} only in B`] : []),
  ].join(", ");
}

/** What a text of a step is called. */
export function nameOfText(step: Pick<ComparedStep, "kind">, aspect: Aspect): string {
  const isInput = aspect === "input";
  if (step.kind === "tool") return isInput ? "Arguments" : "Result";
  if (step.kind === "model") return isInput ? "New messages" : "Reply";
  return isInput ? "Input" : "Output";
}
