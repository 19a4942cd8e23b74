import { expect, test } from "vitest";
import { errorText } from "./cells";

test("the reason of an error precedes the name of its span", () => {
  const error = { trace_id: "t", span_id: "s", name: "execute_tool search" };
  expect(errorText({ ...error, error_type: "Timeout", message: "no answer" })).toBe(
    "Timeout: no answer (execute_tool search)",
  );
  expect(errorText({ ...error, error_type: null, message: "no answer" })).toBe(
    "no answer (execute_tool search)",
  );
  expect(errorText({ ...error, error_type: null, message: null })).toBe("execute_tool search");
  expect(errorText(null)).toBe("");
});
