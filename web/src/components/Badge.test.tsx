import { render, screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { isRunning, StatusBadge } from "./Badge";

const MINUTE_US = 60_000_000;

test("a run without an end is running for an hour after its last record", () => {
  const now = 1_790_000_000_000;
  expect(isRunning("unfinished", now * 1_000 - 59 * MINUTE_US, now)).toBe(true);
  expect(isRunning("unfinished", now * 1_000 - 61 * MINUTE_US, now)).toBe(false);
  expect(isRunning("ok", now * 1_000, now)).toBe(false);
});

test("the status of a run without an end is that of the filter, and its tooltip explains it", () => {
  const nowUs = Date.now() * 1_000;
  const { rerender } = render(<StatusBadge status="unfinished" lastUs={nowUs - 6 * MINUTE_US} />);
  expect(screen.getByText("unfinished").title).toContain("still runs");
  rerender(<StatusBadge status="unfinished" lastUs={nowUs - 90 * MINUTE_US} />);
  expect(screen.getByText("unfinished").title).toContain("more than an hour");
});
