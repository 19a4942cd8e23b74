import { describe, expect, it } from "vitest";
import { merged } from "./merging";

const base = {
  model: "a",
  parameters: { temperature: 1, seed: 7 },
  messages: [
    { role: "system", content: "Be short." },
    { role: "user", content: "Hi" },
  ],
};

describe("merged", () => {
  it("keeps both changes where they touch different things", () => {
    const mine = { ...base, model: "b", parameters: { temperature: 1, seed: 8 } };
    const theirs = {
      ...base,
      parameters: { temperature: 0, seed: 7, stop: "x" },
      messages: [{ role: "system", content: "Be long." }, base.messages[1] ?? {}],
    };
    expect(merged(base, mine, theirs)).toEqual({
      request: {
        model: "b",
        parameters: { temperature: 0, seed: 8, stop: "x" },
        messages: [{ role: "system", content: "Be long." }, base.messages[1]],
      },
      clashes: [],
    });
  });

  it("names what both changed, and keeps one's own", () => {
    const mine = { ...base, parameters: { temperature: 0.5 }, messages: [base.messages[1] ?? {}] };
    const theirs = {
      ...base,
      parameters: { temperature: 0.2, seed: 7 },
      messages: [base.messages[0] ?? {}, { role: "user", content: "Hello" }],
    };
    expect(merged(base, mine, theirs)).toEqual({
      request: mine,
      clashes: ["parameters.temperature", "messages"],
    });
  });

  it("sees no clash in the same change, nor in one that was taken away untouched", () => {
    const mine = { ...base, parameters: { temperature: 0 } };
    const theirs = { ...base, parameters: { temperature: 0, seed: 7 } };
    expect(merged(base, mine, theirs)).toEqual({ request: mine, clashes: [] });
  });
});
