// The zoom of the time axis stays within the trace, whatever the person does.
import { expect, test } from "vitest";
import { random } from "./making";
import {
  around,
  between,
  moved,
  readZoom,
  scaled,
  ticks,
  WHOLE,
  writeZoom,
  type Zoom,
} from "./zoom";

test("whatever is done to it, it is a part of the whole", () => {
  const next = random(7);
  let zoom: Zoom = WHOLE;
  for (let step = 0; step < 2_000; step += 1) {
    const point = next() * 1.2 - 0.1;
    const ways = [
      () => scaled(zoom, next() < 0.6, point),
      () => moved(zoom, next() * 4 - 2),
      () => between(point, next()),
      () => around(point, point),
    ];
    zoom = ways[Math.floor(next() * ways.length)]?.() ?? WHOLE;
    expect(zoom.from).toBeGreaterThanOrEqual(0);
    expect(zoom.to).toBeLessThanOrEqual(1);
    expect(zoom.to).toBeGreaterThan(zoom.from);
    const again = readZoom(writeZoom(zoom));
    expect(again.from).toBeCloseTo(zoom.from, 6);
    expect(again.to).toBeCloseTo(zoom.to, 6);
  }
});

test("what is no zoom means the whole, which is not written", () => {
  for (const text of [undefined, "", "1", "a-b", "0.5-0.2", "NaN-1"]) {
    expect(readZoom(text)).toEqual(WHOLE);
  }
  expect(writeZoom(WHOLE)).toBeUndefined();
});

test("ticks are round and within the part", () => {
  expect(ticks(0, 1_000, 5)).toEqual([0, 200, 400, 600, 800, 1_000]);
  expect(ticks(0, 14 * 3.6e9, 3).map((tick) => tick / 3.6e9)).toEqual([0, 6, 12]);
  const found = ticks(123_456, 234_567, 6);
  expect(found.length).toBeGreaterThan(2);
  expect(found.every((tick) => tick % 10_000 === 0 && tick >= 123_456 && tick <= 234_567)).toBe(
    true,
  );
});
