// The ranges of the axes of a chart over time.

/** From the start of the first bar to the end of the last. Each bar is given by its middle. */
export function rangeOf(
  middles: { readonly length: number; readonly [at: number]: number },
  seconds: number,
): [number, number] {
  const first = middles[0] ?? 0;
  const last = middles[middles.length - 1] ?? first;
  return [first - seconds / 2, last + seconds / 2];
}

/** From 0 to the highest bar, which is `highest`, or from the lowest one if it is negative. */
export function heightRange(lowest: number | null, highest: number | null): [number, number] {
  const top = Math.max(0, highest ?? 0);
  const bottom = Math.min(0, lowest ?? 0);
  return top === bottom ? [0, 1] : [bottom, top + (top - bottom) * 0.05];
}
