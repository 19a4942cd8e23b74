import { expect, test } from "vitest";
import { argumentsOf, type Draft, draftOf, emptyDraft } from "./draft";
import { type Field, fieldOf, inWords, type Json, type Schema } from "./fields";

const GREP: Schema = {
  type: "object",
  additionalProperties: false,
  required: ["pattern"],
  properties: {
    pattern: { type: "string", minLength: 1 },
    literal: { type: "boolean", default: false },
    limit: { type: "integer", minimum: 1, maximum: 10 },
    kind: { enum: ["function", "class"], type: "string" },
    labels: { type: "array", items: { type: "string" } },
    place: {
      type: "object",
      required: ["file"],
      properties: { file: { type: "string" }, line: { type: "integer" } },
    },
    any: {},
  },
};

const field = fieldOf(GREP);

function entered(values: Record<string, Draft>): Draft {
  return { ...(emptyDraft(field) as Record<string, Draft>), ...values };
}

test("what is not entered is left out, and what is needed is said", () => {
  expect(argumentsOf(field, entered({ pattern: "x" }))).toEqual({
    value: { pattern: "x" },
    problems: {},
  });
  expect(argumentsOf(field, entered({})).problems).toEqual({ pattern: "This field is required." });
  const place: Draft = { file: "a.py", line: null };
  const given = entered({ pattern: "x", literal: false, limit: 3, kind: 1, labels: ["a"], place });
  expect(argumentsOf(field, given).value).toEqual({
    pattern: "x",
    literal: false,
    limit: 3,
    kind: "class",
    labels: ["a"],
    place: { file: "a.py" },
  });
});

test("problems stand at the place that the server would name", () => {
  const edits = fieldOf({
    type: "object",
    required: ["edits"],
    properties: {
      edits: {
        type: "array",
        items: { type: "object", required: ["at"], properties: { at: { type: "integer" } } },
      },
    },
  });
  const draft: Draft = { edits: [{ at: 1 }, { at: null }] };
  expect(argumentsOf(edits, draft).problems).toEqual({ "edits.1.at": "This field is required." });
});

test("JSON that is none is told where it stands", () => {
  const { problems } = argumentsOf(field, entered({ pattern: "x", any: "{" }));
  expect(problems.any).toMatch(/^This is not JSON/);
});

test("what a form cannot hold is not put into it", () => {
  expect(draftOf(field, { pattern: "x", more: 1 })).toBeUndefined();
  expect(draftOf(field, { pattern: 1 })).toBeUndefined();
  expect(draftOf(field, { pattern: "x", kind: "method" })).toBeUndefined();
  expect(draftOf(field, [])).toBeUndefined();
});

test("a schema is told in words", () => {
  const { members } = field as Extract<Field, { kind: "object" }>;
  expect(members.map((member) => inWords(member.field))).toEqual([
    "text",
    "true or false",
    "whole number from 1 to 10",
    "function | class",
    "list of text",
    "object {file, line}",
    "any JSON",
  ]);
});

test("arguments that are put into a form come out of it as they were", () => {
  for (let seed = 1; seed <= 300; seed += 1) {
    const made = maker(seed);
    const schema = made.schema(0);
    const field = fieldOf(schema);
    const value = made.value(schema, true);
    const draft = draftOf(field, value);
    expect(draft, `seed ${seed}`).toBeDefined();
    expect(argumentsOf(field, draft ?? null), `seed ${seed}`).toEqual({ value, problems: {} });
  }
});

/** Generates schemas and values for them. Values that a form reads as missing are left out. */
function maker(seed: number) {
  let state = seed;
  const pick = (most: number): number => {
    state = (state * 48271) % 2147483647;
    return state % most;
  };
  const objectSchema = (depth: number): Schema => {
    const names = ["a", "b", "c", "d"].slice(0, 1 + pick(4));
    const properties = Object.fromEntries(names.map((name) => [name, schemaAt(depth + 1)]));
    return { type: "object", properties, required: names.filter(() => pick(2) === 0) };
  };
  const schemaAt = (depth: number): Schema => {
    switch (pick(depth > 2 ? 5 : 7)) {
      case 0:
        return { type: "string" };
      case 1:
        return { type: "integer" };
      case 2:
        return { type: "boolean" };
      case 3:
        return { enum: ["x", "y", 3, null] };
      case 4:
        return {};
      case 5:
        return { type: "array", items: schemaAt(depth + 1) };
      default:
        return objectSchema(depth);
    }
  };
  const valueFor = (schema: Schema, isRequired: boolean): Json => {
    if (schema.enum) return (schema.enum as Json[])[pick(4)] ?? null;
    switch (schema.type) {
      case "string":
        return isRequired && pick(3) === 0 ? "" : `text ${pick(9)}`;
      case "integer":
        return pick(100) - 50;
      case "boolean":
        return pick(2) === 0;
      case "array": {
        const least = isRequired ? 0 : 1;
        return Array.from({ length: least + pick(3) }, () =>
          valueFor(schema.items as Schema, true),
        );
      }
      case "object":
        return objectOf(schema, isRequired);
      default:
        return [1, { deep: ["x", null] }];
    }
  };
  const objectOf = (schema: Schema, isWhole: boolean): Json => {
    const required = schema.required as string[];
    const value: { [name: string]: Json } = {};
    for (const [name, each] of Object.entries(schema.properties as Record<string, Schema>)) {
      const isNeeded = required.includes(name);
      // An object without entered values means missing, unless it is required.
      if (isNeeded || !isWhole || pick(2) === 0)
        value[name] = valueFor(each, !isWhole ? false : isNeeded);
    }
    return value;
  };
  return {
    schema: objectSchema,
    value: (schema: Schema, isRequired: boolean) => valueFor(schema, isRequired),
  };
}
