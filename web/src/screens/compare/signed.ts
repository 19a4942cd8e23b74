// The difference between two amounts with its sign.

/** "+1.2 s", "−3"; empty if one amount is unknown or both are equal. */
export function signed(
  a: number | null,
  b: number | null,
  write: (value: number) => string,
): string {
  if (a === null || b === null || a === b) return "";
  return `${b > a ? "+" : "−"}${write(Math.abs(b - a))}`;
}
