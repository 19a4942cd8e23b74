// A difference with its interval, drawn over a line at zero and written next to it.
import styles from "./Interval.module.css";

interface Props {
  /** Null: unknown. */
  estimate: number | null;
  low: number | null;
  high: number | null;
  /** The largest absolute value of the axis; all intervals of a table share it. */
  reach: number;
  format: (value: number | null) => string;
  /** Which direction is better. Colour is used only if the interval excludes zero. */
  better?: "lower" | "higher";
}

export function Interval({ estimate, low, high, reach, format, better }: Props) {
  if (estimate === null) return <span className={styles.unknown}>–</span>;
  const place = (value: number) =>
    50 + (Math.max(-reach, Math.min(reach, value)) / (reach || 1)) * 50;
  const known = low !== null && high !== null;
  const beyondZero = known && (low > 0 || high < 0);
  const good = better === undefined ? null : better === "lower" ? estimate < 0 : estimate > 0;
  const tone = beyondZero && good !== null ? (good ? "good" : "bad") : "plain";
  return (
    <span className={styles.interval} data-tone={tone}>
      <svg
        className={styles.plot}
        viewBox="0 0 100 10"
        preserveAspectRatio="none"
        aria-hidden="true"
      >
        <line x1="50" x2="50" y1="0" y2="10" className={styles.zero} />
        {known && <line x1={place(low)} x2={place(high)} y1="5" y2="5" className={styles.range} />}
        <rect x={place(estimate) - 0.75} y="2" width="1.5" height="6" className={styles.point} />
      </svg>
      <span className={styles.words}>
        {format(estimate)}
        {known && (
          <span className={styles.bounds}>
            {" "}
            [{format(low)}, {format(high)}]
          </span>
        )}
      </span>
    </span>
  );
}
