// Merge patches (RFC 7396) of requests: computing and applying them.
import { isObject, type Json, type JsonObject, own, same, withValue } from "./json";

/** In a patch: the text of the system message, which is inserted first if there is none. */
export const SYSTEM = "system";

const EMPTY: JsonObject = { parameters: {}, tools: [], headers: {}, variables: {} };
const FIELDS = ["model", "messages", ...Object.keys(EMPTY)];

/** A request with a patch applied, as on the server. */
export function patched(request: JsonObject, patch: JsonObject): JsonObject {
  const { [SYSTEM]: system, ...given } = patch;
  const merged = inOrder({ ...EMPTY, ...(merge(request, given) as JsonObject) });
  if (system === undefined || system === null) return merged;
  return { ...merged, messages: withSystem(merged.messages, system) };
}

function inOrder(request: JsonObject): JsonObject {
  const known = FIELDS.flatMap((name): [string, Json][] => {
    const value = own(request, name);
    return value === undefined ? [] : [[name, value]];
  });
  return { ...Object.fromEntries(known), ...request };
}

/** A value with a merge patch applied; null removes a name. */
export function merge(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch;
  let result: JsonObject = isObject(target) ? target : {};
  for (const [name, value] of Object.entries(patch)) {
    result = withValue(result, name, value === null ? undefined : merge(own(result, name), value));
  }
  return result;
}

/**
 * The smallest merge patch from `before` to `after`: only differences, and complete lists. A patch
 * cannot set null in an object, since null means "remove": see `unsettable`.
 */
export function mergePatch(before: JsonObject, after: JsonObject): JsonObject {
  const patch: [string, Json][] = [];
  for (const [name, value] of Object.entries(after)) {
    const old = own(before, name);
    if (old !== undefined && same(old, value)) continue;
    patch.push([name, isObject(old) && isObject(value) ? mergePatch(old, value) : value]);
  }
  for (const name of Object.keys(before)) {
    if (!Object.hasOwn(after, name)) patch.push([name, null]);
  }
  return Object.fromEntries(patch);
}

/** The paths of nulls in `after` that no merge patch can set. */
export function unsettable(before: Json | undefined, after: Json, path = ""): string[] {
  if (!isObject(after)) return [];
  return Object.entries(after).flatMap(([name, value]) => {
    const old = isObject(before) ? own(before, name) : undefined;
    const at = path ? `${path}.${name}` : name;
    if (old !== undefined && same(old, value)) return [];
    return value === null ? [at] : unsettable(old, value, at);
  });
}

/** The text of a leading system message, if there is one. */
export function systemText(request: JsonObject): Json | undefined {
  const first = Array.isArray(request.messages) ? request.messages[0] : undefined;
  return isSystem(first) ? first.content : undefined;
}

function isSystem(message: Json | undefined): message is JsonObject {
  return isObject(message) && (message.role === "system" || message.role === "developer");
}

function withSystem(messages: Json | undefined, text: Json): Json[] {
  const list = Array.isArray(messages) ? messages : [];
  const first = list[0];
  if (isSystem(first)) return [{ ...first, content: text }, ...list.slice(1)];
  return [{ role: "system", content: text }, ...list];
}
