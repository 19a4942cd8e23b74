// The versions of an experiment's request: their content, their differences, and restoring one.
import { isObject, type Json, type JsonObject, own, same } from "./json";
import { mergePatch, patched, SYSTEM, systemText } from "./mergePatch";

/** The required fields of an experiment. The recorded requests never change. */
export interface Versioned {
  version: number;
  items: readonly { original: JsonObject; current: JsonObject }[];
  versions: readonly { number: number; patch: JsonObject }[];
}

/** The request of a call at a version; 0 is the recorded one. */
export function requestAt(experiment: Versioned, item: number, version: number): JsonObject {
  const found = experiment.items[item];
  if (!found) return {};
  if (version === experiment.version) return found.current;
  return experiment.versions
    .filter((each) => each.number <= version)
    .reduce((request, each) => patched(request, each.patch), patched(found.original, {}));
}

/**
 * The patch from `before` to `after`. If only the instructions differ among the messages it uses
 * `system`, which also fits the other calls of a data set.
 */
export function changeOf(before: JsonObject, after: JsonObject): JsonObject {
  const patch = mergePatch(before, after);
  const text = systemText(after);
  if (!Array.isArray(patch.messages) || typeof text !== "string") return patch;
  const told = patched(before, { [SYSTEM]: text });
  if (!same(told.messages, patch.messages)) return patch;
  const { messages: _, ...rest } = patch;
  return { ...rest, [SYSTEM]: text };
}

/** The one patch that restores a version in all calls; null if each needs its own. */
export function wayBack(experiment: Versioned, version: number): JsonObject | null {
  const patches = experiment.items.map((item, number) =>
    changeOf(item.current, requestAt(experiment, number, version)),
  );
  const [first] = patches;
  return first && patches.every((each) => same(each, first)) ? first : null;
}

export interface Difference {
  /** `messages[1].content`, the server's name of a field. */
  path: string;
  /** Undefined: it was missing. */
  before: Json | undefined;
  after: Json | undefined;
}

/** The differences of two requests, in the order of the newer one. */
export function differences(
  before: Json | undefined,
  after: Json | undefined,
  path = "",
): Difference[] {
  if (same(before, after)) return [];
  if (isObject(before) && isObject(after)) {
    const names = new Set([...Object.keys(after), ...Object.keys(before)]);
    return [...names].flatMap((name) =>
      differences(own(before, name), own(after, name), path ? `${path}.${name}` : name),
    );
  }
  if (Array.isArray(before) && Array.isArray(after)) {
    const longest = Math.max(before.length, after.length);
    return Array.from({ length: longest }, (_, place) => place).flatMap((place) =>
      differences(before[place], after[place], `${path}[${place}]`),
    );
  }
  return [{ path, before, after }];
}

const VARIABLE = /\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}/g;

/** The names of `{{name}}` in messages, in order. */
export function placeholders(messages: Json | undefined): string[] {
  const found = new Set<string>();
  const look = (value: Json | undefined): void => {
    if (typeof value === "string") {
      for (const match of value.matchAll(VARIABLE)) if (match[1]) found.add(match[1]);
    } else if (Array.isArray(value)) value.forEach(look);
    else if (isObject(value)) Object.values(value).forEach(look);
  };
  look(messages);
  return [...found];
}
