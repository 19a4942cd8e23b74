// The part of JSON schema that a form can show. Everything else is entered as JSON.
import { isObject } from "../../../components/messages/chat";

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type Schema = Record<string, unknown>;

export type Field =
  | { kind: "text"; isLong: boolean; mayBeEmpty: boolean }
  | { kind: "number"; isWhole: boolean; least?: number; most?: number }
  | { kind: "boolean" }
  | { kind: "choice"; choices: readonly Json[] }
  | { kind: "list"; item: Field; itemSchema: Schema }
  | { kind: "object"; members: readonly Member[] }
  | { kind: "json" };

export interface Member {
  name: string;
  field: Field;
  isRequired: boolean;
  description: string;
  /** The default value; undefined if the schema has none. */
  byDefault: Json | undefined;
}

const DEEPEST = 6;
/** Arguments with more than one line of text. */
const LONG = /^(code|content|diff|old|new|text|focus)$/;

export function fieldOf(schema: unknown, name = "", depth = 0): Field {
  if (!isObject(schema) || depth > DEEPEST) return { kind: "json" };
  if (Array.isArray(schema.enum) && schema.enum.every(isAtom)) {
    return { kind: "choice", choices: schema.enum as Json[] };
  }
  switch (schema.type) {
    case "string":
      return { kind: "text", isLong: LONG.test(name), mayBeEmpty: !schema.minLength };
    case "integer":
    case "number":
      return {
        kind: "number",
        isWhole: schema.type === "integer",
        ...(typeof schema.minimum === "number" ? { least: schema.minimum } : {}),
        ...(typeof schema.maximum === "number" ? { most: schema.maximum } : {}),
      };
    case "boolean":
      return { kind: "boolean" };
    case "array":
      return isObject(schema.items)
        ? { kind: "list", item: fieldOf(schema.items, "", depth + 1), itemSchema: schema.items }
        : { kind: "json" };
    case "object":
      return isObject(schema.properties)
        ? { kind: "object", members: membersOf(schema, depth) }
        : { kind: "json" };
    default:
      return { kind: "json" };
  }
}

export function membersOf(schema: Schema, depth = 0): Member[] {
  const required = Array.isArray(schema.required) ? schema.required : [];
  return Object.entries(isObject(schema.properties) ? schema.properties : {}).map(
    ([name, each]): Member => ({
      name,
      field: fieldOf(each, name, depth + 1),
      isRequired: required.includes(name),
      description: isObject(each) && typeof each.description === "string" ? each.description : "",
      byDefault: isObject(each) && "default" in each ? (each.default as Json) : undefined,
    }),
  );
}

function isAtom(value: unknown): boolean {
  return value === null || ["string", "number", "boolean"].includes(typeof value);
}

/** The type of a field in words: "a whole number from 0 to 10". */
export function inWords(field: Field): string {
  switch (field.kind) {
    case "text":
      return "text";
    case "number":
      return `${field.isWhole ? "whole number" : "number"}${bounds(field)}`;
    case "boolean":
      return "true or false";
    case "choice":
      return field.choices.map(shownChoice).join(" | ");
    case "list":
      return `list of ${inWords(field.item)}`;
    case "object":
      return `object {${field.members.map(({ name }) => name).join(", ")}}`;
    case "json":
      return "any JSON";
  }
}

export function shownChoice(choice: Json): string {
  return typeof choice === "string" ? choice : JSON.stringify(choice);
}

function bounds({ least, most }: { least?: number; most?: number }): string {
  if (least !== undefined && most !== undefined) return ` from ${least} to ${most}`;
  if (least !== undefined) return ` from ${least}`;
  return most === undefined ? "" : ` up to ${most}`;
}
