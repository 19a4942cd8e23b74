// How texts are divided into snippets and other text, and which result answers which call.
import { expect, test } from "vitest";
import { messagesOf } from "./chat";
import { keyOf, linked } from "./linking";
import { segments } from "./snippets";

test("a snippet is as many bytes as its range says, whatever they hold", () => {
  const code = 'é = "</code>"';
  const size = new TextEncoder().encode(code).length;
  const text = `see\n<code="/a b.py" #10:${10 + size}>\n${code}\n</code>\nend`;
  expect(segments(text)).toEqual([
    { kind: "text", text: "see\n" },
    { kind: "snippet", path: "/a b.py", start: 10, end: 10 + size, code },
    { kind: "text", text: "\nend" },
  ]);
});

test("badly counted bytes mean the text up to the closing tag, a missing one no snippet", () => {
  expect(segments('<code="a" #0:99>\nxy\n</code>')).toMatchObject([
    { kind: "snippet", code: "xy" },
  ]);
  expect(segments('<code="a" #0:2>\nxy')).toEqual([{ kind: "text", text: '<code="a" #0:2>\nxy' }]);
});

test("of calls with one id, each result answers the nearest that is still open", () => {
  const call = { id: "same", function: { name: "f", arguments: "{}" } };
  const messages = messagesOf([
    { role: "assistant", content: "a", tool_calls: [call] },
    { role: "tool", tool_call_id: "same", content: "1" },
    { role: "assistant", content: null, tool_calls: [call] },
    { role: "tool", tool_call_id: "same", content: "2" },
    { role: "tool", tool_call_id: "same", content: "3" },
  ]);
  const { callOf, answerOf } = linked(messages);
  expect([...callOf].map(([at, place]) => [at, keyOf(place)])).toEqual([
    [1, "0.1"],
    [3, "2.0"],
  ]);
  expect([...answerOf]).toEqual([
    ["0.1", 1],
    ["2.0", 3],
  ]);
});
