// The difference of two failure rates, with an interval that shows how much of it may be chance.

export interface Rate {
  runs: number;
  failed: number;
}

const FEWEST_RUNS = 10;
const Z = 1.96; // 95 %

/** Wilson's score interval of a rate. */
function wilson({ runs, failed }: Rate): readonly [number, number] {
  const rate = failed / runs;
  const middle = rate + Z ** 2 / (2 * runs);
  const spread = Z * Math.sqrt((rate * (1 - rate)) / runs + Z ** 2 / (4 * runs ** 2));
  const scale = 1 + Z ** 2 / runs;
  return [(middle - spread) / scale, (middle + spread) / scale];
}

/**
 * The interval of the difference from `a` to `b` with a confidence of 95 %, by Newcombe's method 10
 * ("Interval estimation for the difference between independent proportions", Statistics in Medicine
 * 17, 1998).
 */
export function interval(a: Rate, b: Rate): readonly [number, number] {
  const [rateA, rateB] = [a.failed / a.runs, b.failed / b.runs];
  const [[lowA, highA], [lowB, highB]] = [wilson(a), wilson(b)];
  const difference = rateB - rateA;
  return [
    difference - Math.hypot(rateB - lowB, highA - rateA),
    difference + Math.hypot(highB - rateB, rateA - lowA),
  ];
}

/** The difference in words. It states when the runs are too few to attribute it to the groups. */
export function rateDifference(a: Rate, b: Rate): string {
  if (a.runs < FEWEST_RUNS || b.runs < FEWEST_RUNS) {
    return `too few runs to compare (fewer than ${FEWEST_RUNS} in a group)`;
  }
  const [low, high] = interval(a, b);
  const range = `95 % interval ${points(low)} to ${points(high)} points`;
  const difference = `${points(b.failed / b.runs - a.failed / a.runs)} points, ${range}`;
  return low <= 0 && high >= 0 ? `${difference}: this may be chance` : difference;
}

/** 0.124 → "+12.4". */
function points(share: number): string {
  const value = (share * 100).toFixed(1);
  return share < 0 ? value.replace("-", "−") : `+${value}`;
}
