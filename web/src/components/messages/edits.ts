// What the arguments of the edit tools would change. See docs/edits.md.
import { isObject } from "./chat";

export type Edit =
  /** `before` is null if only the new text is known. */
  | { kind: "passage"; file: string; where: string; before: string | null; after: string }
  | { kind: "patch"; diff: string };

/** The edits in a call's arguments; null for other calls. */
export function editsIn(given: Record<string, unknown>): Edit[] | null {
  if (typeof given.diff === "string" && Object.keys(given).length === 1) {
    return [{ kind: "patch", diff: given.diff }];
  }
  if (Array.isArray(given.edits)) {
    const found = given.edits.map((each) => (isObject(each) ? passage(each) : null));
    return found.every((each) => each !== null) && found.length > 0 ? found : null;
  }
  if (typeof given.path === "string" && typeof given.content === "string") {
    const where = "the whole file";
    return [{ kind: "passage", file: given.path, where, before: null, after: given.content }];
  }
  return null;
}

function passage(edit: Record<string, unknown>): Edit | null {
  if (typeof edit.file !== "string") return null;
  const { file, item, replace, range, lines } = edit;
  if (isObject(replace) && typeof replace.old === "string" && typeof replace.new === "string") {
    const where = replace.all === true ? "every occurrence" : "";
    return { kind: "passage", file, where, before: replace.old, after: replace.new };
  }
  if (isObject(item) && typeof item.code === "string") {
    return written(file, String(item.canonical_path ?? item.name ?? "an item"), item.code);
  }
  if (isObject(range) && typeof range.code === "string") {
    return written(file, `bytes ${range.start}–${range.end}`, range.code);
  }
  if (isObject(lines) && typeof lines.code === "string") {
    return written(file, `lines ${lines.first}–${lines.last}`, lines.code);
  }
  return null;
}

function written(file: string, where: string, after: string): Edit {
  return { kind: "passage", file, where, before: null, after };
}
