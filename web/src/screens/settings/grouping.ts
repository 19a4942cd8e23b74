// The settings in groups, by the first part of their name.
import type { EffectiveSetting } from "../../api/schema";

export interface Group {
  name: string;
  title: string;
  settings: readonly EffectiveSetting[];
}

/** The settings that match the search, in the order of the reference. */
export function groupsOf(settings: readonly EffectiveSetting[], find: string): Group[] {
  const words = find.toLowerCase().split(/\s+/).filter(Boolean);
  const fitting = settings.filter((each) => {
    const text = `${each.key} ${each.description} ${each.origin.layer}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  return [...Map.groupBy(fitting, groupOf)].map(([name, each]) => ({
    name,
    title: name === "" ? "General" : name.charAt(0).toUpperCase() + name.slice(1),
    settings: each,
  }));
}

function groupOf({ key }: EffectiveSetting): string {
  const [first = "", second] = key.split(".");
  return second === undefined ? "" : first;
}

export function shownValue(value: unknown): string {
  if (value === null || value === undefined) return "not set";
  if (typeof value === "string") return value === "" ? "(empty)" : value;
  if (Array.isArray(value) && value.length === 0) return "none";
  return JSON.stringify(value);
}
