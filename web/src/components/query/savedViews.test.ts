import { expect, test } from "vitest";
import { isSame, keptOf, searchOf } from "./savedViews";

test("a view keeps what a list shows, but not the row beside it", () => {
  const search = {
    query: "status:error a=b&c",
    columns: "title,cost",
    sort: "cost" as const,
    ascending: "true" as const,
    peek: "one",
    live: "off" as const,
  };
  const { peek, live, ...kept } = search;
  expect(searchOf(keptOf(search))).toEqual(kept);
  expect([peek, live]).toEqual(["one", "off"]);
});

test("a view is shown when the address says the same", () => {
  expect(isSame(keptOf({ query: "x" }), keptOf({ query: "x", peek: "one" }))).toBe(true);
  expect(isSame(keptOf({ query: "x" }), keptOf({ query: "x", sort: "cost" }))).toBe(false);
  expect(isSame(keptOf({ columns: "a,b" }), keptOf({ columns: "a" }))).toBe(false);
});
