// The figures of a trace's header: unknown ones are not invented.
import { render, screen } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import type { Skeleton } from "../../api/schema";
import { treeOf } from "./model/tree";
import { TraceAbout } from "./TraceAbout";

vi.mock("@tanstack/react-router", () => ({ Link: () => null }));

function skeleton(lastUs: number, duration: number | null, flags = 0): Skeleton {
  const columns = {
    span_ids: ["a"],
    parents: [-1],
    depths: [0],
    names: [0],
    kinds: [1],
    models: [-1],
    statuses: [2],
    starts: [0],
    durations: [duration],
    first_tokens: [null],
    input_tokens: [null],
    output_tokens: [null],
    costs: [null],
    flags: [flags],
  };
  return {
    trace_id: "t",
    run_id: "t",
    thread_id: "t",
    labels: [],
    user: null,
    release: null,
    metadata: {},
    start_us: 1_000,
    last_us: lastUs,
    root: 0,
    texts: ["name", "tool", "ok"],
    columns,
  } as unknown as Skeleton;
}

function shown(lastUs: number, duration: number | null): void {
  const read = skeleton(lastUs, duration);
  render(<TraceAbout tree={treeOf(read)} skeleton={read} />);
}

test("a clock that went back makes the time of a trace unknown, not small", () => {
  shown(1_000, null);
  expect(screen.getByText("–")).toBeDefined();
  expect(screen.queryByText("1 µs")).toBeNull();
});

test("no time at all is told as such", () => {
  shown(1_000, 0);
  expect(screen.getByText("0 µs")).toBeDefined();
});

test("else it is from the first start to the last moment", () => {
  shown(3_001_000, 2_000_000);
  expect(screen.getByText("3.00 s")).toBeDefined();
});

test("the status of a trace is that of its root, and unfinished without one", () => {
  const read = skeleton(3_000, 2_000, 0);
  render(<TraceAbout tree={treeOf(read)} skeleton={read} />);
  expect(screen.getByText("ok")).toBeDefined();
  render(<TraceAbout tree={treeOf(read)} skeleton={{ ...read, root: null }} />);
  expect(screen.getByText("unfinished")).toBeDefined();
});
