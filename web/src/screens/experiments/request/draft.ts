// Unsaved changes of a request, and how they are merged with changes by others.
import { isObject, type JsonObject, same } from "./json";
import { unsettable } from "./mergePatch";
import { merged } from "./merging";
import { changeOf } from "./versions";

/** A newer version that conflicts with the local changes: the person must choose. */
export interface Clash {
  version: number;
  /** The newest saved request. */
  theirs: JsonObject;
  /** The newest request with the local changes, which win in a conflict. */
  mine: JsonObject;
  paths: string[];
}

export interface Draft {
  /** The base version of the changes. */
  version: number;
  base: JsonObject;
  request: JsonObject;
  /** The request as typed JSON; null: the JSON of `request`. */
  text: string | null;
  /** Fields whose text is not JSON, with the reason. */
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

/** The field for the complete request as JSON. */
export const WHOLE = "";

export function newDraft(version: number, request: JsonObject): Draft {
  return { version, base: request, request, text: null, unread: {}, clash: null };
}

export function isChanged(draft: Draft): boolean {
  return !same(draft.base, draft.request) || Object.keys(draft.unread).length > 0;
}

/** The patch to send when saving. */
export function patchOf(draft: Draft): JsonObject {
  return changeOf(draft.base, draft.request);
}

export interface Problem {
  field: string;
  message: string;
}

/** Errors that the page finds before it asks the server. */
export function ownProblems(draft: Draft): Problem[] {
  const nulls = unsettable(draft.base, draft.request).map((field) => ({
    field,
    message: "null cannot be set here: in a change it removes a value.",
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
      // Text that was typed during a save is a change of the saved version.
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

/** The object of a text, or why it is not an object. */
export function parsed(text: string): JsonObject | string {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : "The value must be an object.";
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
