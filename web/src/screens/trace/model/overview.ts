// A miniature of a trace: how much ran at each moment, and where something failed.
import { type Tree, textAt } from "./tree";

const FAILED_PX = 5; // a strip at the top, so that many errors do not hide the rest

/**
 * How many spans ran in each of a number of equal intervals, and which intervals contain the end
 * of a failed one.
 */
export function overview(tree: Tree, parts: number): { running: Float64Array; failed: Uint8Array } {
  const changes = new Float64Array(parts + 1);
  const failed = new Uint8Array(parts);
  const scale = parts / tree.total;
  for (let place = 0; place < tree.count; place += 1) {
    const from = Math.min(Math.floor((tree.starts[place] ?? 0) * scale), parts - 1);
    const to = Math.min(Math.floor((tree.stops[place] ?? 0) * scale), parts - 1);
    changes[from] = (changes[from] ?? 0) + 1;
    changes[to + 1] = (changes[to + 1] ?? 0) - 1;
    if (textAt(tree, tree.statuses, place) === "error") failed[to] = 1;
  }
  let now = 0;
  const running = changes.subarray(0, parts).map((change) => {
    now += change;
    return now;
  });
  return { running, failed };
}

/** Draws it as wide as the canvas. */
export function drawOverview(canvas: HTMLCanvasElement, tree: Tree): void {
  const scale = window.devicePixelRatio;
  const width = Math.max(1, Math.floor(canvas.clientWidth * scale));
  const height = Math.max(1, Math.floor(canvas.clientHeight * scale));
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d");
  if (!context) return;
  const style = getComputedStyle(canvas);
  const { running, failed } = overview(tree, width);
  const most = Math.log1p(running.reduce((one, other) => Math.max(one, other), 1));
  context.fillStyle = style.color;
  running.forEach((count, at) => {
    const tall = (Math.log1p(count) / most) * (height - (FAILED_PX + 1) * scale);
    context.fillRect(at, height - tall, 1, tall);
  });
  context.fillStyle = style.getPropertyValue("--failed");
  failed.forEach((is, at) => {
    if (is) context.fillRect(at - scale, 0, 2 * scale, FAILED_PX * scale);
  });
}
