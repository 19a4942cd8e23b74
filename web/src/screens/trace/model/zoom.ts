// The visible part of a trace's time as fractions, and the ticks of its axis.

export interface Zoom {
  from: number;
  to: number;
}

export const WHOLE: Zoom = { from: 0, to: 1 };
const NARROWEST = 1e-6;
const STEP = 2;

const MINUTE = 60_000_000;
const DAY = 1_440 * MINUTE;
/** Above these microseconds, clocks are not decimal. */
const LAST_DECIMAL = 10_000_000;
const CLOCK_STEPS = [0.25, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1_440].map(
  (minutes) => minutes * MINUTE,
);

/** "0.25-0.5" as in the address. Anything else means the complete time. */
export function readZoom(text: string | undefined): Zoom {
  const found = text?.match(/^(\d*\.?\d+(?:e-\d+)?)-(\d*\.?\d+(?:e-\d+)?)$/);
  if (!found) return WHOLE;
  return bounded({ from: Number(found[1]), to: Number(found[2]) });
}

export function writeZoom(zoom: Zoom): string | undefined {
  if (zoom.from <= 0 && zoom.to >= 1) return undefined;
  return `${Number(zoom.from.toPrecision(7))}-${Number(zoom.to.toPrecision(7))}`;
}

/** Zooms around a point, which is a fraction of the complete time. */
export function scaled(zoom: Zoom, nearer: boolean, point = (zoom.from + zoom.to) / 2): Zoom {
  const factor = nearer ? 1 / STEP : STEP;
  return bounded({
    from: point - (point - zoom.from) * factor,
    to: point + (zoom.to - point) * factor,
  });
}

/** The same width, moved by a fraction of it. */
export function moved(zoom: Zoom, by: number): Zoom {
  const width = zoom.to - zoom.from;
  const from = Math.min(Math.max(zoom.from + by * width, 0), 1 - width);
  return bounded({ from, to: from + width });
}

/** The range that a drag between two points selects, in either direction. */
export function between(one: number, other: number): Zoom {
  return bounded({ from: Math.min(one, other), to: Math.max(one, other) });
}

/** The complete span in view, with a small margin on both sides. */
export function around(start: number, stop: number): Zoom {
  const room = Math.max((stop - start) * 0.1, NARROWEST);
  return bounded({ from: start - room, to: stop + room });
}

function bounded(zoom: Zoom): Zoom {
  if (!(zoom.to > zoom.from)) return WHOLE;
  const width = Math.max(zoom.to - zoom.from, NARROWEST);
  const from = Math.min(Math.max(zoom.from, 0), 1 - Math.min(width, 1));
  return { from, to: Math.min(from + width, 1) };
}

/** Round moments within a part of the time, about `most` of them; microseconds. */
export function ticks(from: number, to: number, most: number): number[] {
  const rough = (to - from) / Math.max(most, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const steps = rough > LAST_DECIMAL ? CLOCK_STEPS : [1, 2, 5, 10].map((each) => each * power);
  const step = steps.find((each) => each >= rough) ?? DAY * Math.ceil(rough / DAY);
  const found: number[] = [];
  for (let tick = Math.ceil(from / step) * step; tick <= to; tick += step) found.push(tick);
  return found;
}
