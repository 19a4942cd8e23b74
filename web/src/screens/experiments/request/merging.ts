// Two changes of the same request put together, where they do not touch the same things.
import { isObject, type Json, type JsonObject, own, same } from "./json";

export interface Merged {
  /** With both changes; where they clash, with one's own. */
  request: JsonObject;
  /** The paths that both changed, each in its own way. */
  clashes: string[];
}

/** What `mine` and `theirs`, both made of `base`, come to together. */
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
  // Of lists that grew or shrank nobody can say which entry is which.
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
