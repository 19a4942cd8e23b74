// What a person changes of a request before it is saved, and how it lives with changes by others.
import { isObject, type JsonObject, same } from "./json";
import { unsettable } from "./mergePatch";
import { merged } from "./merging";
import { changeOf } from "./versions";

/** A newer version and what clashes with one's own changes: the person has to choose. */
export interface Clash {
  version: number;
  /** The newest request, as the other one saved it. */
  theirs: JsonObject;
  /** It with one's own changes, which win where both changed the same. */
  mine: JsonObject;
  paths: string[];
}

export interface Draft {
  /** The version that is changed. */
  version: number;
  base: JsonObject;
  request: JsonObject;
  /** The request as it is being typed as JSON; null: as `request` is written. */
  text: string | null;
  /** Fields whose text is no JSON, and why. */
  unread: Readonly<Record<string, string>>;
  clash: Clash | null;
}

export type DraftAction =
  | { type: "edit"; request: JsonObject }
  | { type: "type"; text: string }
  | { type: "unread"; field: string; why: string | null }
  | { type: "received"; version: number; request: JsonObject }
  | { type: "saved"; sent: JsonObject; version: number; request: JsonObject }
  | { type: "discard" }
  | { type: "keep"; whose: "mine" | "theirs" }
  | { type: "show"; base: JsonObject; request: JsonObject };

/** The field of the whole request as JSON. */
export const WHOLE = "";

export function newDraft(version: number, request: JsonObject): Draft {
  return { version, base: request, request, text: null, unread: {}, clash: null };
}

export function isChanged(draft: Draft): boolean {
  return !same(draft.base, draft.request) || Object.keys(draft.unread).length > 0;
}

/** The patch that saving it would send. */
export function patchOf(draft: Draft): JsonObject {
  return changeOf(draft.base, draft.request);
}

export interface Problem {
  field: string;
  message: string;
}

/** What the page itself sees to be wrong, before the server is asked. */
export function ownProblems(draft: Draft): Problem[] {
  const nulls = unsettable(draft.base, draft.request).map((field) => ({
    field,
    message: "null cannot be set here: in a change it takes a value away.",
  }));
  const unread = Object.entries(draft.unread).map(([field, message]) => ({ field, message }));
  return [...unread, ...nulls];
}

export function nextDraft(draft: Draft, action: DraftAction): Draft {
  switch (action.type) {
    case "edit":
      return { ...draft, request: action.request, text: null };
    case "type":
      return typed(draft, action.text);
    case "unread":
      return { ...draft, unread: withReason(draft.unread, action.field, action.why) };
    case "received":
      return received(draft, action.version, action.request);
    case "saved":
      // Whatever was typed while it was being saved is a change of what was saved.
      return rebased({ ...draft, base: action.sent }, action.version, action.request);
    case "discard":
      return newDraft(draft.clash?.version ?? draft.version, draft.clash?.theirs ?? draft.base);
    case "keep":
      return kept(draft, action.whose);
    case "show":
      return { ...draft, base: action.base, request: action.request, text: null, unread: {} };
  }
}

function typed(draft: Draft, text: string): Draft {
  const read = parsed(text);
  if (typeof read === "string")
    return { ...draft, text, unread: withReason(draft.unread, WHOLE, read) };
  return { ...draft, text, request: read, unread: withReason(draft.unread, WHOLE, null) };
}

/** The object that a text is, or why it is none. */
export function parsed(text: string): JsonObject | string {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : "It should be an object.";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function received(draft: Draft, version: number, theirs: JsonObject): Draft {
  const known = draft.clash?.version ?? draft.version;
  return version > known ? rebased(draft, version, theirs) : draft;
}

function rebased(draft: Draft, version: number, theirs: JsonObject): Draft {
  if (same(draft.base, draft.request)) {
    const text = Object.hasOwn(draft.unread, WHOLE) ? draft.text : null;
    return { ...draft, version, base: theirs, request: theirs, text, clash: null };
  }
  const together = merged(draft.base, draft.request, theirs);
  if (together.clashes.length === 0) {
    const text = same(together.request, draft.request) ? draft.text : null;
    return { ...draft, version, base: theirs, request: together.request, text, clash: null };
  }
  return {
    ...draft,
    clash: { version, theirs, mine: together.request, paths: together.clashes },
  };
}

function kept(draft: Draft, whose: "mine" | "theirs"): Draft {
  if (!draft.clash) return draft;
  const { version, theirs, mine } = draft.clash;
  const request = whose === "mine" ? mine : theirs;
  return { ...newDraft(version, theirs), request };
}

function withReason(unread: Draft["unread"], field: string, why: string | null): Draft["unread"] {
  const { [field]: _, ...rest } = unread;
  return why === null ? rest : { ...rest, [field]: why };
}
