// The totals follow the list: they are read again when a call begins and when it ends.
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { client } from "../../api/client";
import { LiveProvider } from "../../live/LiveProvider";
import { SilentSocket } from "../../testing/SilentSocket";
import { SummaryLine } from "./SummaryLine";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("the totals are read again when a call begins, and seldom", async () => {
  let runs = 1;
  const read = vi.spyOn(client, "GET").mockImplementation((async () => ({
    data: {
      runs,
      failed_runs: 0,
      faults: 0,
      tokens: { input: null, output: null },
      cost: null,
      unpriced: 0,
      duration: { n: 0, p50: null, p95: null, p99: null, max: null },
    },
    response: new Response(),
  })) as never);
  const socket = new SilentSocket();
  render(
    <QueryClientProvider client={new QueryClient()}>
      <LiveProvider socket={socket}>
        <SummaryLine query="" of="runs" isLive />
      </LiveProvider>
    </QueryClientProvider>,
  );
  await act(async () => vi.advanceTimersByTimeAsync(1_000));
  const before = read.mock.calls.length;

  runs = 1_234;
  for (const type of ["SpanStarted", "SpanStarted", "SpanEnded"]) {
    await act(async () => socket.say({ type }));
    await act(async () => vi.advanceTimersByTimeAsync(500));
  }
  await act(async () => vi.advanceTimersByTimeAsync(1_500));
  expect(screen.getByText("1,234")).toBeDefined();
  expect(read.mock.calls.length).toBe(before + 1);

  await act(async () => vi.advanceTimersByTimeAsync(8_000));
  expect(read.mock.calls.length).toBe(before + 2); // the events after the first reading
});
