import { expect, test } from "vitest";
import type { EffectiveSetting } from "../../api/schema";
import { groupsOf, shownValue } from "./grouping";

function setting(key: string, description = ""): EffectiveSetting {
  return {
    key,
    description,
    origin: { layer: "default", source: null, line: null },
  } as EffectiveSetting;
}

test("settings stand in groups by the first part of their name, and keep their order", () => {
  const groups = groupsOf([setting("model"), setting("tools.timeout"), setting("tools.turns")], "");
  expect(groups.map(({ title, settings }) => [title, settings.length])).toEqual([
    ["General", 1],
    ["Tools", 2],
  ]);
});

test("all words are searched for, in names and descriptions", () => {
  const all = [setting("tools.timeout", "Seconds of one call."), setting("checks.timeout")];
  expect(groupsOf(all, "TIMEOUT call").flatMap((group) => group.settings)).toEqual([all[0]]);
  expect(groupsOf(all, "nothing")).toEqual([]);
});

test("a value is shown as a person would write it", () => {
  expect([null, "", "x", [], ["a"], false, 3].map(shownValue)).toEqual([
    "not set",
    "(empty)",
    "x",
    "none",
    '["a"]',
    "false",
    "3",
  ]);
});
