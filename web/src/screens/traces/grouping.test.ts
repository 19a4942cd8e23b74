// Selecting a group: the resulting query matches exactly the spans of the group.
import { expect, test } from "vitest";
import type { QueryTerm } from "../../api/schema";
import type { Grouping } from "../../components/table/listSearch";
import { bucketOf, bucketOfPeriod, groupName, narrowed, percentileName } from "./grouping";

/** Terms as the server would parse them. None of these contains spaces. */
function read(text: string): QueryTerm[] {
  return [...text.matchAll(/\S+/g)].map((found) => {
    const [, sign = "", field = "text", rest = ""] =
      /^(-?)(?:([a-z]+):)?(.*)$/.exec(found[0]) ?? [];
    const start = found.index;
    const end = start + found[0].length;
    const values = rest.split(",").map((value) => ({
      text: value,
      wildcard: value.includes("*"),
      start,
      end,
    }));
    return { start, end, field, operator: ":", negated: sign === "-", values };
  });
}

const NOW = Date.parse("2026-11-28T12:00:00Z");
const MICROSECONDS = 1_000;

const choose = (text: string, by: Grouping, value: string | number, bucketSeconds = 3_600) =>
  narrowed({ value }, { text, terms: read(text), by, bucketSeconds, now: NOW });
const hour = (text: string, at: string) =>
  choose(text, "time", Date.parse(`2026-11-28T${at}:00Z`) * MICROSECONDS);

test("a group's term is added to the query", () => {
  expect(choose("", "model", "gpt-5.4")).toBe("model:gpt-5.4");
  expect(choose("status:error", "run", "a b")).toBe('status:error run:"a b"');
  expect(choose("timeout ", "operation", "chat")).toBe("timeout operation:chat");
});

test("it takes the place of what was wider", () => {
  expect(choose("model:g* cost:1", "model", "gpt-5.4")).toBe("cost:1 model:gpt-5.4");
  expect(choose("-thread:x y", "thread", "t1")).toBe("y thread:t1");
});

test("labels that were asked for stay, since a span may have several", () => {
  expect(choose("label:a,b", "label", "c")).toBe("label:a,b label:c");
  expect(choose("label:c x", "label", "c")).toBe("label:c x");
});

test("what has no value is asked for as such", () => {
  expect(choose("x", "model", "")).toBe("x -model:*");
  expect(groupName("model", { value: "" }, 3_600)).toBe("(no model)");
});

test("a group of today has its day in its name", () => {
  const today = new Date();
  expect(groupName("time", { value: today.getTime() * MICROSECONDS }, 3_600)).toContain(
    String(today.getFullYear()),
  );
});

test("the name of a group of whole days is its first day", () => {
  const value = Date.parse("2026-11-30T00:00:00Z") * MICROSECONDS;
  expect(groupName("time", { value }, 86_400)).toBe("30 Nov 2026");
  expect(groupName("time", { value }, 604_800)).toBe("30 Nov 2026");
});

test("groups divided by time begin with days if the period is longer than two days", () => {
  const lengthOf = (text: string) => bucketOfPeriod(read(text), NOW);
  for (const long of ["", "model:x", "period:last_week", "since:3d", "until:1h"])
    expect(lengthOf(long)).toBe("86400");
  for (const short of ["period:last_day", "period:today", "x since:2d", "since:9d until:8d"])
    expect(lengthOf(short)).toBeUndefined();
});

test("the name of a percentile has what its durations measure", () => {
  expect(percentileName("p50", "calls")).toBe("Call p50");
  expect(percentileName("p95", "runs")).toBe("Run p95");
});

test("a group by time is a range, which an earlier choice of time may cut", () => {
  const ten = "since:2026-11-28T10:00:00Z until:2026-11-28T11:00:00Z";
  expect(hour("", "10:00")).toBe(ten);
  expect(hour("a period:last_day b", "10:00")).toBe(`a b ${ten}`);
  expect(hour("since:90m", "10:00")).toBe("since:2026-11-28T10:30:00Z until:2026-11-28T11:00:00Z");
  expect(hour("since:2026-11-01T00:00:00Z until:2026-11-28T10:15:00Z", "10:00")).toBe(
    "since:2026-11-28T10:00:00Z until:2026-11-28T10:15:00Z",
  );
});

test("times that are read by the server alone stay beside it", () => {
  expect(hour("period:today", "10:00")).toMatch(/^period:today since:/);
});

test("a length out of an address is one that the server takes", () => {
  expect(bucketOf(undefined)).toBe(3_600);
  expect(bucketOf("86400")).toBe(86_400);
  for (const odd of ["0", "-1", "1.5", "x", "999999999"]) expect(bucketOf(odd)).toBe(3_600);
});
