import { expect, test } from "vitest";
import { doneText } from "./LabelSelection";

test("the notice after labelling counts the selected rows", () => {
  expect(doneText("runs", 3, true)).toBe("3 runs labelled.");
  expect(doneText("threads", 1, true)).toBe("1 thread labelled.");
  expect(doneText("runs", null, true)).toBe("All matching runs labelled.");
  expect(doneText("spans", 2, false)).toBe("Labels removed from 2 spans.");
});
