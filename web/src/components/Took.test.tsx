// The time of something that runs ticks; anything else shows its duration.
import { act, cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { Took } from "./Took";

afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

test("the time of a running call ticks, and its end replaces it", () => {
  vi.useFakeTimers();
  const startUs = Date.now() * 1_000;
  const { rerender } = render(<Took status="unfinished" took={null} startUs={startUs} />);
  act(() => vi.advanceTimersByTime(7_000));
  expect(screen.getByText("7 s")).toBeDefined();
  rerender(<Took status="ok" took={7_500_000} startUs={startUs} />);
  expect(screen.getByText("7.50 s")).toBeDefined();
});

test("a call that began long ago without an end is not running", () => {
  const longAgo = (Date.now() - 3_600_001) * 1_000;
  render(<Took status="unfinished" took={null} startUs={longAgo} />);
  expect(screen.queryByText(/\d/)).toBeNull();
});
