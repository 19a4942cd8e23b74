import { expect, test } from "vitest";
import { listFile, queryOf, selectedRows } from "./selected";

const SOME = { ids: ["a", "b c"], until: null };
const ALL = { ids: ["a"], until: new Date("2026-11-30T04:00:00Z") };

test("all matching rows are those that match at the moment of the selection", () => {
  expect(selectedRows("runs", "status:error", ALL)).toEqual({
    rows: "runs",
    query: "status:error until:2026-11-30T04:00:00.000Z",
  });
  expect(selectedRows("runs", "status:error", SOME)).toEqual({ rows: "runs", ids: ["a", "b c"] });
});

test("single rows are exported by their ids", () => {
  expect(queryOf("runs", "status:error", SOME)).toBe('run:a,"b c"');
  expect(queryOf("spans", "", { ids: ["t%2F1/s", "t%2F1/u"], until: null })).toBe(
    "trace:t/1 span:s,u",
  );
  const file = listFile("threads", "", SOME, { sort: "cost" }, "csv");
  expect(file).toEqual({
    path: "/api/v1/exports/threads",
    parameters: { sort: "cost", query: 'thread:a,"b c"', format: "csv" },
  });
});

test("too many single rows do not fit into an address", () => {
  const ids = Array.from({ length: 2_000 }, (_, at) => `${at}-0123456789abcdef0123456789`);
  expect(() => listFile("runs", "", { ids, until: null }, {}, "csv")).toThrow("Too many");
});
