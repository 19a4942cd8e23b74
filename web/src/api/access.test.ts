import { beforeEach, describe, expect, it } from "vitest";
import { accessHeaders, accessProtocols, chooseProject, hasKey, takeKey } from "./access";

beforeEach(() => {
  localStorage.clear();
  history.replaceState(null, "", "/");
});

describe("the chosen project", () => {
  it("is sent with requests and sockets until the person returns to the first one", () => {
    chooseProject("alpha");
    expect(accessHeaders()).toEqual({ "x-treadle-project": "alpha" });
    expect(accessProtocols()).toEqual(["treadle", "treadle.project.alpha"]);
    chooseProject(null);
    expect([accessHeaders(), accessProtocols()]).toEqual([{}, []]);
  });
});

describe("the key of the page", () => {
  it("is taken out of the address and sent with requests and sockets", () => {
    history.replaceState(null, "", "/traces/1?span=2#key=a_b-C1");
    expect(takeKey()).toBe(true);
    expect(location.href.endsWith("/traces/1?span=2")).toBe(true);
    expect(accessHeaders()).toEqual({ "x-treadle-token": "a_b-C1" });
    expect(accessProtocols()).toEqual(["treadle", "treadle.key.a_b-C1"]);
  });

  it("is not sent where there is none, and other fragments stay", () => {
    for (const fragment of ["", "#part", "#key=", "#key=a b", "#key=<x>"]) {
      history.replaceState(null, "", `/threads${fragment}`);
      expect(takeKey()).toBe(false);
    }
    expect(hasKey()).toBe(false);
    expect([accessHeaders(), accessProtocols()]).toEqual([{}, []]);
  });

  it("of a newer link takes the place of the one before", () => {
    for (const key of ["old", "new"]) {
      history.replaceState(null, "", `/#key=${key}`);
      takeKey();
    }
    expect(accessHeaders()).toEqual({ "x-treadle-token": "new" });
  });
});
