import { describe, expect, it } from "vitest";
import { type Json, type JsonObject, same } from "./json";
import { merge, mergePatch, patched, systemText, unsettable } from "./mergePatch";

/** The examples of RFC 7396, appendix A: target, patch, result. */
const EXAMPLES: [Json, Json, Json][] = [
  [{ a: "b" }, { a: "c" }, { a: "c" }],
  [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
  [{ a: "b" }, { a: null }, {}],
  [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
  [{ a: ["b"] }, { a: "c" }, { a: "c" }],
  [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
  [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
  [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
  [
    ["a", "b"],
    ["c", "d"],
    ["c", "d"],
  ],
  [{ a: "b" }, ["c"], ["c"]],
  [{ a: "foo" }, null, null],
  [{ a: "foo" }, "bar", "bar"],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: "b", c: null }, { a: "b" }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
];

describe("merge", () => {
  it.each(EXAMPLES)("%j with %j is %j", (target, patch, result) => {
    expect(merge(target, patch)).toEqual(result);
  });

  it("leaves what it is given as it was", () => {
    const target = { a: { b: 1 } };
    merge(target, { a: { b: 2, c: 3 } });
    expect(target).toEqual({ a: { b: 1 } });
  });
});

describe("mergePatch", () => {
  it("holds only what differs, and lists whole", () => {
    const before = {
      model: "a/b",
      messages: [{ role: "user", content: "Hi" }],
      parameters: { temperature: 1, top_p: 1, response_format: { type: "text", strict: true } },
      tools: [],
    };
    const after = {
      model: "a/b",
      messages: [{ role: "user", content: "Hello" }],
      parameters: { temperature: 0.2, response_format: { type: "json_object", strict: true } },
      tools: [],
    };
    expect(mergePatch(before, after)).toEqual({
      messages: [{ role: "user", content: "Hello" }],
      parameters: { temperature: 0.2, top_p: null, response_format: { type: "json_object" } },
    });
  });

  it("makes any request of any other one, and nothing of the same", () => {
    const random = seeded(7396);
    for (let round = 0; round < 2_000; round += 1) {
      const before = anyObject(random, 3);
      const after = random() < 0.5 ? changed(random, before) : anyObject(random, 3);
      if (unsettable(before, after).length) continue;
      const patch = mergePatch(before, after);
      expect(same(merge(before, patch), after), JSON.stringify([before, patch, after])).toBe(true);
      expect(same(before, after)).toBe(Object.keys(patch).length === 0);
    }
  });

  it("names the nulls that it cannot set, and no others", () => {
    const before = { parameters: { stop: null, seed: 1 }, messages: [] };
    const after = { parameters: { stop: null, seed: null, a: { b: null } }, messages: [null] };
    expect(unsettable(before, after)).toEqual(["parameters.seed", "parameters.a.b"]);
  });

  it("takes names that objects have by themselves for names as any other", () => {
    const before = JSON.parse('{"parameters": {}}') as JsonObject;
    const after = JSON.parse('{"parameters": {"__proto__": 1, "constructor": 2}}') as JsonObject;
    const patch = mergePatch(before, after);
    expect(JSON.stringify(patch)).toBe('{"parameters":{"__proto__":1,"constructor":2}}');
    expect(JSON.stringify(merge(before, patch))).toBe(JSON.stringify(after));
  });
});

describe("patched", () => {
  it("sets the text of the system message, and puts one first where there is none", () => {
    const without = { messages: [{ role: "user", content: "Hi" }] };
    const told = patched(without, { system: "Be short." });
    expect(told.messages).toEqual([{ role: "system", content: "Be short." }, ...without.messages]);
    const again = patched(told, { system: "Be long." });
    expect(again.messages).toEqual([{ role: "system", content: "Be long." }, ...without.messages]);
    expect(systemText(again)).toBe("Be long.");
    expect(systemText(without)).toBe(undefined);
  });

  it("gives every part its place, also one that was taken away", () => {
    expect(patched({ model: "a", messages: [] }, { tools: null })).toEqual({
      model: "a",
      messages: [],
      parameters: {},
      tools: [],
      headers: {},
      variables: {},
    });
  });
});

type Random = () => number;

/** Mulberry32: the same numbers every time. */
function seeded(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function below(random: Random, count: number): number {
  return Math.floor(random() * count);
}

function anyObject(random: Random, depth: number): JsonObject {
  const entries = Array.from({ length: below(random, 4) }, (): [string, Json] => [
    "abcd"[below(random, 4)] ?? "a",
    anyValue(random, depth - 1),
  ]);
  return Object.fromEntries(entries);
}

function anyValue(random: Random, depth: number): Json {
  const kind = below(random, depth > 0 ? 7 : 5);
  if (kind === 0) return null;
  if (kind === 1) return random() < 0.5;
  if (kind === 2) return below(random, 3);
  if (kind < 5) return ["", "x", "y"][below(random, 3)] ?? "";
  if (kind === 5)
    return Array.from({ length: below(random, 3) }, () => anyValue(random, depth - 1));
  return anyObject(random, depth);
}

function changed(random: Random, object: JsonObject): JsonObject {
  const entries = Object.entries(object).filter(() => random() < 0.8);
  return {
    ...Object.fromEntries(
      entries.map(([name, value]): [string, Json] => [
        name,
        random() < 0.3 ? anyValue(random, 2) : value,
      ]),
    ),
    ...(random() < 0.3 ? anyObject(random, 2) : {}),
  };
}
