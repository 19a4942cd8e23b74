// Each label, user, release and value of the metadata selects the records that have it.
import { expect, test } from "vitest";
import { originOf, originTerms } from "./Origin";

const run = { labels: ["shop"], user: "ann", release: "1.4", metadata: { tenant: "acme" } };

test("the queries quote keys and values with special characters", () => {
  const odd = { ...run, user: "Ann Lee", metadata: { "team name": "a", seats: 5 } };
  expect(originTerms(originOf([odd])).map(({ query }) => query)).toEqual([
    'user:"Ann Lee"',
    "release:1.4",
    'metadata."team name":a',
    "metadata.seats:5",
    "label:shop",
  ]);
});

test("several records have each value once, and unknown values are left out", () => {
  const other = { ...run, release: "1.5", user: null };
  expect(originOf([run, other])).toEqual({
    labels: ["shop"],
    users: ["ann"],
    releases: ["1.4", "1.5"],
    metadata: [["tenant", "acme"]],
  });
});
