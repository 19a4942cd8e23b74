import { expect, test } from "vitest";
import { completed, writingAt } from "./typing";

/** The text with `|` at the caret. */
function at(marked: string) {
  const caret = marked.indexOf("|");
  const text = marked.replace("|", "");
  return { text, writing: writingAt(text, caret) };
}

test("a name is begun at the start of a term", () => {
  expect(at("|").writing).toMatchObject({ what: "name", begun: "" });
  expect(at("status:ok mo|").writing).toMatchObject({ what: "name", begun: "mo", start: 10 });
  expect(at("-mo|").writing).toMatchObject({ what: "name", begun: "mo", start: 1 });
});

test("a value is begun behind a name and its operator", () => {
  expect(at("model:gp|").writing).toMatchObject({ what: "value", field: "model", begun: "gp" });
  expect(at("cost>=|").writing).toMatchObject({ what: "value", field: "cost", begun: "" });
  expect(at("Label:a,b| x").writing).toMatchObject({
    field: "label",
    begun: "b",
    start: 8,
    end: 9,
  });
  expect(at("label:a|,b").writing).toMatchObject({ begun: "a", start: 6, end: 7 });
});

test("a key of the metadata keeps its case", () => {
  expect(at("metadata.Tenant:ac|").writing).toMatchObject({
    what: "value",
    field: "metadata.Tenant",
    begun: "ac",
  });
  expect(at('metadata."a b":x|').writing).toMatchObject({ what: "value", field: 'metadata."a b"' });
  expect(at("metadata.te|").writing).toMatchObject({ what: "name", begun: "metadata.te" });
});

test("blanks, commas and colons in quotes are part of a value", () => {
  expect(at('label:"a b, c|').writing).toMatchObject({ begun: "a b, c", start: 6 });
  expect(at('"a: b" mo|').writing).toMatchObject({ what: "name", begun: "mo" });
});

test("a choice takes the place of what was begun, and the caret goes behind it", () => {
  const choose = (marked: string, choice: string) => {
    const { text, writing } = at(marked);
    const done = completed(text, writing, choice);
    return `${done.text.slice(0, done.caret)}|${done.text.slice(done.caret)}`;
  };
  expect(choose("st|", "status:")).toBe("status:|");
  expect(choose("status:er|", "error")).toBe("status:error |");
  expect(choose("status:er| x", "error")).toBe("status:error| x");
  expect(choose("label:a|,b", '"a b"')).toBe('label:"a b"|,b');
  expect(choose("-mo|", "model:")).toBe("-model:|");
});
