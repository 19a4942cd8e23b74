// The programs that repeat a recorded call contain the complete call, and no API key.
import { expect, test } from "vitest";
import { asCurl, asPython, python } from "./copying";

const body = {
  model: "openai/m",
  messages: [{ role: "user", content: 'it\'s\n"so" \\ 👍 \u0007' }],
  temperature: 0,
  strange: { deep: [true, null] },
};
const call = { server: "http://127.0.0.1:7070", body };

test("curl is given the body as one argument, quotes and all", () => {
  const written = asCurl(call);
  const argument = written.slice(written.indexOf("-d '") + 4, -1).replaceAll("'\\''", "'");
  expect(JSON.parse(argument)).toEqual(body);
  expect(written).toContain("Bearer $OPENAI_API_KEY");
});

test("Python is given parameters by name, and those that its client does not know apart", () => {
  const written = asPython(call);
  expect(written).toContain('model="openai/m"');
  expect(written).toContain("temperature=0,");
  expect(written).toMatch(/extra_body=\{\s+"strange": \{/);
  expect(written).not.toContain("stream");
  expect(asPython({ ...call, body: { ...body, stream: true } })).toContain("for chunk in answer:");
});

test("values are written as Python writes them", () => {
  expect(python({ a: [true, false, null, 1.5], b: {} }, 0)).toBe(
    '{\n    "a": [\n        True,\n        False,\n        None,\n        1.5,\n    ],\n    "b": {},\n}',
  );
});
