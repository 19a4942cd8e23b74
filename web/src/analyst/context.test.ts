import { describe, expect, it } from "vitest";
import { chipsOf, contextOf, suggestionsFor } from "./context";

function chips(pathname: string, search: Record<string, string> = {}, labels: string[] = []) {
  return chipsOf({ pathname, search }, labels).map((chip) => [chip.kind, chip.value]);
}

describe("what a person has before them", () => {
  it("is read from the address of each screen", () => {
    expect(chips("/threads/a%2Fb", { run: "r" })).toEqual([
      ["thread", "a/b"],
      ["run", "r"],
    ]);
    expect(chips("/runs/r", { span: "s" })).toEqual([
      ["run", "r"],
      ["span", "s"],
    ]);
    expect(chips("/traces/t", { span: "s" })).toEqual([
      ["trace", "t"],
      ["span", "s"],
    ]);
    expect(chips("/sessions/c")).toEqual([["thread", "c"]]);
    expect(chips("/experiments/e")).toEqual([["experiment", "e"]]);
    expect(chips("/experiments/new", { trace: "t", span: "s" })).toEqual([
      ["trace", "t"],
      ["span", "s"],
    ]);
    expect(chips("/experiments")).toEqual([]);
    expect(chips("/settings", { find: "x" })).toEqual([]);
  });

  it("is, on a list, the row beside it and the labels that are asked for", () => {
    expect(chips("/runs", { peek: "r" }, ["prod"])).toEqual([
      ["run", "r"],
      ["label", "prod"],
    ]);
    expect(chips("/traces", { peek: "t%2F1/s" })).toEqual([
      ["trace", "t/1"],
      ["span", "s"],
    ]);
    expect(chips("/threads", { peek: "t" }, ["a", "b"])).toEqual([
      ["thread", "t"],
      ["label", "a"],
      ["label", "b"],
    ]);
  });

  it("takes ids as they are, also such as no address could hold", () => {
    expect(chips("/traces/%E0%A4%A")).toEqual([["trace", "%E0%A4%A"]]);
    expect(chips("/traces/1e3")).toEqual([["trace", "1e3"]]);
  });

  it("is told without the chips that were removed", () => {
    const all = chipsOf({ pathname: "/traces/t", search: { span: "s" } }, []);
    expect(contextOf("/traces/t", all.slice(1))).toEqual({
      page: "/traces/t",
      thread_id: null,
      run_id: null,
      trace_id: null,
      span_id: "s",
      experiment_id: null,
      labels: [],
    });
  });

  it("suggests questions that fit what is open", () => {
    const open = chipsOf({ pathname: "/runs/r", search: {} }, []);
    expect(suggestionsFor(open)[0]).toBe("What went wrong in this run?");
    expect(suggestionsFor([])[0]).toContain("last hour");
  });
});
