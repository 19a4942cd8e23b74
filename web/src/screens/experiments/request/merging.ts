// Merges two changes of the same request that do not touch the same parts.
import { isObject, type Json, type JsonObject, own, same } from "./json";

export interface Merged {
  /** The request with both changes; local changes win in a conflict. */
  request: JsonObject;
  /** The paths that both changed differently. */
  clashes: string[];
}

/** The merge of `mine` and `theirs`, both based on `base`. */
export function merged(base: JsonObject, mine: JsonObject, theirs: JsonObject): Merged {
  const clashes: string[] = [];
  const request = together(base, mine, theirs, "", clashes);
  return { request: isObject(request) ? request : mine, clashes };
}

type Maybe = Json | undefined;

function together(base: Maybe, mine: Maybe, theirs: Maybe, path: string, clashes: string[]): Maybe {
  if (same(mine, theirs) || same(base, theirs)) return mine;
  if (same(base, mine)) return theirs;
  if (isObject(base) && isObject(mine) && isObject(theirs)) {
    const names = new Set([...Object.keys(mine), ...Object.keys(theirs)]);
    const entries = [...names].flatMap((name): [string, Json][] => {
      const at = path ? `${path}.${name}` : name;
      const value = together(own(base, name), own(mine, name), own(theirs, name), at, clashes);
      return value === undefined ? [] : [[name, value]];
    });
    return Object.fromEntries(entries);
  }
  // If lists grew or shrank, their entries cannot be matched.
  const asLong = Array.isArray(base) && Array.isArray(mine) && Array.isArray(theirs);
  if (asLong && base.length === mine.length && base.length === theirs.length) {
    return mine.map(
      (each, place) =>
        together(base[place], each, theirs[place], `${path}[${place}]`, clashes) ?? null,
    );
  }
  clashes.push(path);
  return mine;
}
