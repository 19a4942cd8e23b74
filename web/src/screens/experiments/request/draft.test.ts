import { describe, expect, it } from "vitest";
import { isChanged, newDraft, nextDraft, ownProblems, patchOf, WHOLE } from "./draft";
import { patched } from "./mergePatch";

const request = {
  model: "a/b",
  messages: [{ role: "user", content: "Hi" }],
  parameters: { temperature: 1, seed: 7 },
  tools: [],
  headers: {},
  variables: {},
};
const fresh = newDraft(1, request);
const hotter = { ...request, parameters: { temperature: 2, seed: 7 } };

describe("a draft", () => {
  it("is changed by what differs, and not by a change that was taken back", () => {
    const changed = nextDraft(fresh, { type: "edit", request: hotter });
    expect(isChanged(changed)).toBe(true);
    expect(patchOf(changed)).toEqual({ parameters: { temperature: 2 } });
    expect(isChanged(nextDraft(changed, { type: "edit", request }))).toBe(false);
    expect(nextDraft(changed, { type: "discard" })).toEqual(fresh);
  });

  it("follows JSON while it is typed, and keeps text that is none", () => {
    const typed = nextDraft(fresh, { type: "type", text: JSON.stringify(hotter) });
    expect(typed.request).toEqual(hotter);
    const broken = nextDraft(typed, { type: "type", text: "{" });
    expect(broken.request).toEqual(hotter);
    expect(broken.text).toBe("{");
    expect(ownProblems(broken).map((each) => each.field)).toEqual([WHOLE]);
    expect(nextDraft(broken, { type: "type", text: "[]" }).unread[WHOLE]).toBe(
      "The value must be an object.",
    );
    expect(ownProblems(nextDraft(broken, { type: "type", text: "{}" }))).toEqual([]);
  });

  it("shows a newer version while nothing is changed", () => {
    const next = nextDraft(fresh, { type: "received", version: 2, request: hotter });
    expect(next).toEqual(newDraft(2, hotter));
  });

  it("keeps one's own changes beside those of a newer version", () => {
    const changed = nextDraft(fresh, { type: "edit", request: { ...request, model: "c/d" } });
    const next = nextDraft(changed, { type: "received", version: 2, request: hotter });
    expect(next.clash).toBe(null);
    expect(next.request).toEqual({ ...hotter, model: "c/d" });
    expect(patchOf(next)).toEqual({ model: "c/d" });
  });

  it("leaves the choice to the person where both changed the same", () => {
    const mine = { ...request, parameters: { temperature: 0, seed: 7 } };
    const changed = nextDraft(fresh, { type: "edit", request: mine });
    const clashing = nextDraft(changed, { type: "received", version: 2, request: hotter });
    expect(clashing.request).toEqual(mine);
    expect(clashing.clash?.paths).toEqual(["parameters.temperature"]);
    const own = nextDraft(clashing, { type: "keep", whose: "mine" });
    expect(own.version).toBe(2);
    expect(patchOf(own)).toEqual({ parameters: { temperature: 0 } });
    expect(nextDraft(clashing, { type: "keep", whose: "theirs" })).toEqual(newDraft(2, hotter));
  });

  it("keeps what is typed while it is being saved", () => {
    const more = { ...hotter, model: "c/d" };
    const changed = nextDraft(fresh, { type: "edit", request: more });
    const saved = nextDraft(changed, {
      type: "saved",
      sent: hotter,
      version: 2,
      request: hotter,
    });
    expect(saved.base).toEqual(hotter);
    expect(patchOf(saved)).toEqual({ model: "c/d" });
  });

  it("says that null takes away, where it cannot be set", () => {
    const edited = { ...request, parameters: { ...request.parameters, stop: null } };
    const changed = nextDraft(fresh, { type: "edit", request: edited });
    expect(ownProblems(changed).map((each) => each.field)).toEqual(["parameters.stop"]);
  });

  it("sends back unchanged whatever request it is given", () => {
    const odd = {
      model: "",
      messages: [null, 7, { role: "alien", content: { deep: [null] }, "": 1 }],
      parameters: { stop: null, logit_bias: { "50256": -100 } },
      tools: [{ type: "custom" }, "text"],
      surprise: { a: null },
    };
    const draft = newDraft(0, odd);
    expect(isChanged(draft)).toBe(false);
    expect(patchOf(draft)).toEqual({});
    const typed = nextDraft(draft, { type: "type", text: JSON.stringify(odd, null, 2) });
    expect(patchOf(typed)).toEqual({});
    expect(patched(odd, patchOf(typed))).toEqual({ headers: {}, variables: {}, ...odd });
  });
});
