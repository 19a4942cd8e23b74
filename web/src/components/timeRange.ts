// The range of the axis of a chart over time.

/** From the start of the first bar to the end of the last. Each bar is given by its middle. */
export function rangeOf(
  middles: { readonly length: number; readonly [at: number]: number },
  seconds: number,
): [number, number] {
  const first = middles[0] ?? 0;
  const last = middles[middles.length - 1] ?? first;
  return [first - seconds / 2, last + seconds / 2];
}
