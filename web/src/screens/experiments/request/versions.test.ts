import { describe, expect, it } from "vitest";
import type { JsonObject } from "./json";
import { patched } from "./mergePatch";
import { changeOf, differences, placeholders, requestAt, wayBack } from "./versions";

function call(text: string, temperature: number): JsonObject {
  return patched(
    { model: "a", messages: [{ role: "user", content: text }] },
    {
      parameters: { temperature },
    },
  );
}

function experiment(originals: JsonObject[], patches: JsonObject[]) {
  return {
    version: patches.length,
    versions: patches.map((patch, place) => ({ number: place + 1, patch })),
    items: originals.map((original) => ({
      original,
      current: patches.reduce(patched, original),
    })),
  };
}

describe("versions", () => {
  const several = experiment(
    [call("one", 1), call("two", 0.5)],
    [{ system: "Be short." }, { parameters: { temperature: 0 } }, { system: "Be long." }],
  );

  it("are the recorded request with all changes up to there", () => {
    expect(requestAt(several, 1, 0)).toEqual(several.items[1]?.original);
    expect(requestAt(several, 1, 2)).toMatchObject({
      messages: [{ role: "system", content: "Be short." }, { content: "two" }],
      parameters: { temperature: 0 },
    });
    expect(requestAt(several, 1, 3)).toEqual(several.items[1]?.current);
  });

  it("can be gone back to where one change does it for all calls", () => {
    expect(wayBack(several, 2)).toEqual({ system: "Be short." });
    expect(wayBack(several, 1)).toBe(null); // each call had its own temperature
    expect(wayBack(several, 3)).toEqual({});
  });
});

describe("changeOf", () => {
  it("says system where of the messages only the instructions differ", () => {
    const before = call("Hi", 1);
    const told = patched(before, { system: "Be short." });
    expect(changeOf(before, told)).toEqual({ system: "Be short." });
    expect(changeOf(told, patched(told, { system: "Be long.", model: "b" }))).toEqual({
      model: "b",
      system: "Be long.",
    });
    const other = { ...told, messages: [{ role: "system", content: "Be long." }] };
    expect(changeOf(told, other)).toEqual({ messages: other.messages });
    expect(changeOf(told, before)).toEqual({ messages: before.messages });
  });
});

describe("differences", () => {
  it("names the paths as the server does", () => {
    const before = call("Hi", 1);
    const after = { ...call("Hello", 1), tools: [{ type: "function" }], extra: 1 };
    expect(differences(before, after)).toEqual([
      { path: "messages[0].content", before: "Hi", after: "Hello" },
      { path: "tools[0]", before: undefined, after: { type: "function" } },
      { path: "extra", before: undefined, after: 1 },
    ]);
  });
});

describe("placeholders", () => {
  it("are found in whatever a message holds, once each", () => {
    const messages = [
      { role: "system", content: "{{tone}} and {{ tone }}, not {{1}} nor {tone}" },
      { role: "user", content: [{ type: "text", text: "{{question}}" }] },
    ];
    expect(placeholders(messages)).toEqual(["tone", "question"]);
  });
});
