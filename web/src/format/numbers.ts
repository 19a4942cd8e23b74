// Readable numbers: short, with their unit, the same on every screen. Null: unknown.

export const UNKNOWN = "–";
const LEAST_COST = 0.000001;

const counts = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const shortCounts = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** 1234 → "1,234". */
export function count(value: number | null | undefined): string {
  return value == null ? UNKNOWN : counts.format(value);
}

/** "1 run", "1,234 runs", "– runs". */
export function counted(value: number | null | undefined, one: string, more = `${one}s`): string {
  return `${count(value)} ${unit(value, one, more)}`;
}

/** The noun after a number: "run" after 1, otherwise "runs". */
export function unit(value: number | null | undefined, one: string, more = `${one}s`): string {
  return value === 1 ? one : more;
}

/** 12345 → "12.3K". */
export function shortCount(value: number | null | undefined): string {
  return value == null ? UNKNOWN : shortCounts.format(value);
}

/**
 * US dollars to a hundredth of a cent, below one cent to six digits: "$0.0450", "$0.000123",
 * "<$0.000001". `cost` in `traces/amounts.py` of the server returns the same text.
 */
export function cost(value: number | null | undefined): string {
  if (value == null) return UNKNOWN;
  if (value > 0 && value < LEAST_COST) return `<$${LEAST_COST.toFixed(6)}`;
  return `$${value.toFixed(value === 0 || value >= 0.01 ? 4 : 6)}`;
}

/**
 * The known cost of a sum: "$0.0450". A plus sign states that it leaves out calls of unknown price.
 * `total_cost` of the server returns the same text.
 */
export function totalCost(sums: { cost: number | null; unpriced: number }): string {
  return sums.cost !== null && sums.unpriced > 0 ? `${cost(sums.cost)}+` : cost(sums.cost);
}

/**
 * Microseconds: "850 µs", "12.3 ms", "4.56 s", "3 min 20 s", "2 h 5 min", "3 d 4 h", "20,706 d".
 * Durations below a minute have three figures. `duration` in `traces/amounts.py` of the server
 * returns the same text.
 */
export function duration(microseconds: number | null | undefined): string {
  if (microseconds == null) return UNKNOWN;
  const whole = Math.round(microseconds);
  if (whole < 1_000) return `${whole} µs`;
  if (whole < 999_500) return `${figures(whole, 1_000)} ms`;
  if (whole < 59_950_000) return `${figures(whole, 1_000_000)} s`;
  const seconds = Math.round(whole / 1_000_000);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 2_880) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  const hours = Math.round(minutes / 60);
  if (hours < 2_400) return `${Math.floor(hours / 24)} d ${hours % 24} h`;
  return `${count(Math.round(hours / 24))} d`;
}

/** Milliseconds, which some answers use. */
export function milliseconds(value: number | null | undefined): string {
  return duration(value == null ? value : value * 1_000);
}

/** 1536 → "1.5 KB". */
export function bytes(value: number | null | undefined): string {
  if (value == null) return UNKNOWN;
  const units = ["B", "KB", "MB", "GB", "TB"];
  let rest = value;
  let unit = 0;
  while (rest >= 1_000 && unit < units.length - 1) {
    rest /= 1_000;
    unit += 1;
  }
  return `${unit === 0 ? rest : figures(value, 1_000 ** unit)} ${units[unit]}`;
}

/** -0.484 → "−48.4 %". */
export function percent(share: number | null | undefined): string {
  if (share == null) return UNKNOWN;
  return `${(share * 100).toFixed(1).replace("-", "−")} %`;
}

/**
 * Three figures of a whole number in a larger unit. The number is multiplied before it is divided:
 * 2.485 is a binary fraction that `toFixed` rounds down, but 248.5 is exact.
 */
function figures(value: number, inUnit: number): string {
  const digits = value * 1_000 < 9_995 * inUnit ? 2 : value * 1_000 < 99_950 * inUnit ? 1 : 0;
  const scale = 10 ** digits;
  return (Math.round((value * scale) / inUnit) / scale).toFixed(digits);
}
