import { expect, test } from "vitest";
import { runStatus } from "./Badge";

test("a run without an end is running while something happens", () => {
  const now = 1_790_000_000_000;
  expect(runStatus("unfinished", now * 1_000 - 60_000_000, now)).toBe("running");
  expect(runStatus("unfinished", now * 1_000 - 600_000_000, now)).toBe("unfinished");
  expect(runStatus("ok", now * 1_000, now)).toBe("ok");
});
