import { expect, test } from "vitest";
import { exportCommand } from "./exportCommand";

test("an id is one word of the shell and one value of the query, whatever it is", () => {
  expect(exportCommand("run-1")).toContain("treadle traces export run:run-1 -o run.jsonl\n");
  expect(exportCommand("it's; $(x)")).toContain(`'run:"it'\\''s; $(x)"' -o run.jsonl\n`);
});
