// The drawing of a TimeChart, loaded on first use.
import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { tickMoment } from "../format/times";
import type { TimeChartProps } from "./TimeChart";
import styles from "./TimeChart.module.css";
import { heightRange, rangeOf } from "./timeRange";

const HEIGHT = 120;

export function TimePlot({ buckets, bucketSeconds, format, onChoose }: TimeChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const newest = useRef({ buckets, format, onChoose });
  const plot = useRef<uPlot>(null);
  useEffect(() => {
    newest.current = { buckets, format, onChoose };
    plot.current?.setData(columns(buckets, bucketSeconds));
  }, [buckets, format, onChoose, bucketSeconds]);
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const drawn = new uPlot(
      options(element.clientWidth, bucketSeconds, (value) => newest.current.format(value)),
      columns(newest.current.buckets, bucketSeconds),
      element,
    );
    plot.current = drawn;
    const choose = () => {
      const index = drawn.cursor.idx;
      const bucket = index == null ? undefined : newest.current.buckets[index];
      if (bucket) newest.current.onChoose?.(bucket);
    };
    drawn.over.addEventListener("click", choose);
    const sizes = new ResizeObserver(() =>
      drawn.setSize({ width: element.clientWidth, height: HEIGHT }),
    );
    sizes.observe(element);
    return () => {
      sizes.disconnect();
      drawn.destroy();
      plot.current = null;
    };
  }, [bucketSeconds]);
  return <div ref={place} className={styles.place} aria-hidden="true" />;
}

/** In uPlot's form: seconds and values. A bar is centred on its period. */
function columns(buckets: TimeChartProps["buckets"], seconds: number): uPlot.AlignedData {
  return [
    buckets.map((bucket) => bucket.startUs / 1_000_000 + seconds / 2),
    buckets.map((bucket) => bucket.value),
  ];
}

function options(
  width: number,
  seconds: number,
  format: (value: number | null) => string,
): uPlot.Options {
  const colour = (name: string) => () =>
    getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const axis = {
    stroke: colour("--ink-3"),
    grid: { stroke: colour("--edge"), width: 1 },
    ticks: { stroke: colour("--edge"), width: 1 },
    font: "11px system-ui, sans-serif",
  };
  const bars = uPlot.paths.bars?.({ size: [0.8, 40] });
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    // Shows the first and last bar completely. For a single bar uPlot would choose a range of
    // years.
    scales: {
      x: { range: (plot) => rangeOf(plot.data[0], seconds) },
      y: { range: (_, lowest, highest) => heightRange(lowest, highest) },
    },
    cursor: { y: false, drag: { x: false, y: false } },
    axes: [
      {
        ...axis,
        size: 28,
        values: (_, ticks) => {
          const [first = 0] = ticks;
          const span = (ticks.at(-1) ?? first) - first;
          return ticks.map((tick) => tickMoment(tick * 1_000_000, span));
        },
      },
      { ...axis, size: 60, values: (_, ticks) => ticks.map((tick) => format(tick)) },
    ],
    series: [
      {},
      {
        fill: colour("--accent"),
        ...(bars ? { paths: bars } : {}),
        points: { show: false },
      },
    ],
  };
}
