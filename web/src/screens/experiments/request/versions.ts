// The versions of an experiment's request: what each is, how it differs, the way back to it.
import { isObject, type Json, type JsonObject, own, same } from "./json";
import { mergePatch, patched, SYSTEM, systemText } from "./mergePatch";

/** What this needs to know of an experiment; the recorded requests never change. */
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
 * The patch that makes `after` of `before`. Where of the messages only the instructions differ it
 * says `system`, which fits the other calls of a data set as well.
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

/** The one patch that takes all calls back to a version; null where each would need another. */
export function wayBack(experiment: Versioned, version: number): JsonObject | null {
  const patches = experiment.items.map((item, number) =>
    changeOf(item.current, requestAt(experiment, number, version)),
  );
  const [first] = patches;
  return first && patches.every((each) => same(each, first)) ? first : null;
}

export interface Difference {
  /** `messages[1].content`, as the server names fields. */
  path: string;
  /** Undefined: it was not there. */
  before: Json | undefined;
  after: Json | undefined;
}

/** Where two requests differ, in the order of the newer one. */
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

/** The names that stand as `{{name}}` in messages, in their order. */
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
