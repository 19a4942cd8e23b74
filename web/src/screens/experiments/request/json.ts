// JSON values, and their equality.

export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
  [name: string]: Json;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether two values are equal. The order of an object's keys does not matter. */
export function same(one: Json | undefined, other: Json | undefined): boolean {
  if (one === other) return true;
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((each, place) => same(each, other[place]));
  }
  if (!isObject(one) || !isObject(other)) return false;
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && same(one[name], other[name]))
  );
}

/** An object's own value of that name; a recorded name may be `constructor` or `__proto__`. */
export function own(object: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** A copy with that name set, in its position; `undefined` removes it. */
export function withValue(object: JsonObject, name: string, value: Json | undefined): JsonObject {
  const entries = Object.entries(object).filter(([each]) => each !== name || value !== undefined);
  if (value === undefined) return Object.fromEntries(entries);
  const place = entries.findIndex(([each]) => each === name);
  if (place < 0) entries.push([name, value]);
  else entries[place] = [name, value];
  return Object.fromEntries(entries);
}
