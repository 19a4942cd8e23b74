// The values that a person entered into a form, and the arguments that they mean.
import { isObject } from "../../../components/messages/chat";
import type { Field, Json } from "./fields";

/** Text and JSON are as typed, a choice is its index, null is missing. */
export type Draft = null | string | number | boolean | Draft[] | { [name: string]: Draft };

export type Problems = Readonly<Record<string, string>>;

export function emptyDraft(field: Field): Draft {
  switch (field.kind) {
    case "text":
    case "json":
      return "";
    case "list":
      return [];
    case "object":
      return Object.fromEntries(field.members.map(({ name, field }) => [name, emptyDraft(field)]));
    default:
      return null;
  }
}

/** The path of a part of the arguments, as the server names it: "edits.0.file". */
export function within(path: string, part: string | number): string {
  return path === "" ? String(part) : `${path}.${part}`;
}

interface Read {
  /** Undefined: it is missing. */
  value: Json | undefined;
  problems: Record<string, string>;
}

/** The arguments that a draft means, with the error at each path. */
export function argumentsOf(field: Field, draft: Draft): { value: Json; problems: Problems } {
  const { value, problems } = read(field, draft, true, "");
  return { value: value ?? {}, problems };
}

function read(field: Field, draft: Draft, isRequired: boolean, path: string): Read {
  switch (field.kind) {
    case "text": {
      const text = typeof draft === "string" ? draft : "";
      if (text === "" && !(isRequired && field.mayBeEmpty)) return missing(isRequired, path);
      return known(text);
    }
    case "number":
      return typeof draft === "number" ? known(draft) : missing(isRequired, path);
    case "boolean":
      return typeof draft === "boolean" ? known(draft) : isRequired ? known(false) : left();
    case "choice": {
      const chosen = typeof draft === "number" ? field.choices[draft] : undefined;
      return chosen === undefined ? missing(isRequired, path) : known(chosen);
    }
    case "json":
      return readJson(typeof draft === "string" ? draft : "", isRequired, path);
    case "list":
      return readList(field, Array.isArray(draft) ? draft : [], isRequired, path);
    case "object":
      return readObject(field, draft, isRequired, path);
  }
}

function readJson(text: string, isRequired: boolean, path: string): Read {
  if (text.trim() === "") return missing(isRequired, path);
  try {
    return known(JSON.parse(text) as Json);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { value: undefined, problems: { [path]: `This is not JSON: ${why}` } };
  }
}

function readList(
  field: Extract<Field, { kind: "list" }>,
  drafts: readonly Draft[],
  isRequired: boolean,
  path: string,
): Read {
  if (drafts.length === 0 && !isRequired) return left();
  const found = drafts.map((each, at) => read(field.item, each, true, within(path, at)));
  const value = found.flatMap((each) => (each.value === undefined ? [] : [each.value]));
  return { value, problems: Object.assign({}, ...found.map((each) => each.problems)) };
}

function readObject(
  field: Extract<Field, { kind: "object" }>,
  draft: Draft,
  isRequired: boolean,
  path: string,
): Read {
  const given = isObject(draft) ? (draft as Record<string, Draft>) : {};
  if (
    !isRequired &&
    field.members.every(({ name, field }) => isEmpty(field, given[name] ?? null))
  ) {
    return left();
  }
  const value: { [name: string]: Json } = {};
  const problems: Record<string, string> = {};
  for (const member of field.members) {
    const at = within(path, member.name);
    const part = read(member.field, given[member.name] ?? null, member.isRequired, at);
    if (part.value !== undefined) value[member.name] = part.value;
    Object.assign(problems, part.problems);
  }
  return { value, problems };
}

/** Whether nothing is entered. */
function isEmpty(field: Field, draft: Draft): boolean {
  switch (field.kind) {
    case "object": {
      const given = isObject(draft) ? (draft as Record<string, Draft>) : {};
      return field.members.every(({ name, field }) => isEmpty(field, given[name] ?? null));
    }
    case "list":
      return !Array.isArray(draft) || draft.length === 0;
    default:
      return draft === null || draft === "";
  }
}

function known(value: Json): Read {
  return { value, problems: {} };
}

function left(): Read {
  return { value: undefined, problems: {} };
}

function missing(isRequired: boolean, path: string): Read {
  return { value: undefined, problems: isRequired ? { [path]: "This field is required." } : {} };
}

/** The draft for these arguments; undefined if the form cannot represent all of them. */
export function draftOf(field: Field, value: unknown): Draft | undefined {
  switch (field.kind) {
    case "text":
      return typeof value === "string" ? value : undefined;
    case "number": {
      const isFit = typeof value === "number" && (!field.isWhole || Number.isInteger(value));
      return isFit ? value : undefined;
    }
    case "boolean":
      return typeof value === "boolean" ? value : undefined;
    case "choice": {
      const place = field.choices.indexOf(value as Json);
      return place < 0 ? undefined : place;
    }
    case "json":
      return JSON.stringify(value, null, 2);
    case "list": {
      if (!Array.isArray(value)) return undefined;
      const drafts = value.map((each) => draftOf(field.item, each));
      return drafts.every((each) => each !== undefined) ? drafts : undefined;
    }
    case "object":
      return isObject(value) ? objectDraft(field, value) : undefined;
  }
}

function objectDraft(
  field: Extract<Field, { kind: "object" }>,
  value: Record<string, unknown>,
): Draft | undefined {
  const names = new Set(field.members.map(({ name }) => name));
  if (Object.keys(value).some((name) => !names.has(name))) return undefined;
  const draft: { [name: string]: Draft } = {};
  for (const { name, field: inner } of field.members) {
    const part = name in value ? draftOf(inner, value[name]) : emptyDraft(inner);
    if (part === undefined) return undefined;
    draft[name] = part;
  }
  return draft;
}
