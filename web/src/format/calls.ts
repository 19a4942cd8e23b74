// The kinds of spans that are calls of a model, with tokens and a cost.

export function isModelCall(kind: string): boolean {
  return kind === "model" || kind === "embedding";
}
