// A quantity over time as bars, with the same figures as a table for screen readers.
import { lazy, Suspense } from "react";
import { exactMoment } from "../format/times";
import styles from "./TimeChart.module.css";

export interface Bucket {
  /** The start in Unix microseconds. */
  startUs: number;
  /** Null: unknown. */
  value: number | null;
}

export interface TimeChartProps {
  /** The title: "Cost per hour". */
  label: string;
  buckets: readonly Bucket[];
  bucketSeconds: number;
  format: (value: number | null) => string;
  /** Called when a person selects a bar. */
  onChoose?: (bucket: Bucket) => void;
}

const Plot = lazy(() => import("./TimePlot").then((module) => ({ default: module.TimePlot })));

export function TimeChart(props: TimeChartProps) {
  return (
    <figure className={styles.chart} aria-label={props.label}>
      <figcaption className={styles.caption}>{props.label}</figcaption>
      <Suspense fallback={<div className={styles.place} />}>
        <Plot {...props} />
      </Suspense>
      <table className="visually-hidden">
        <caption>{props.label}</caption>
        <tbody>
          {props.buckets.map((bucket) => (
            <tr key={bucket.startUs}>
              <th scope="row">{exactMoment(bucket.startUs)}</th>
              <td>{props.format(bucket.value)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  );
}
