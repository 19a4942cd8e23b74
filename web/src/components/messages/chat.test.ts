// The messages that recorded texts of all kinds become.
import { expect, test } from "vitest";
import { unmarked, wholeText } from "./blobs";
import { messagesInText, messagesOf } from "./chat";

test("a request of a chat becomes messages with their calls and results", () => {
  const [system, user, assistant, tool] = messagesOf([
    { role: "developer", content: "Be brief." },
    { role: "user", content: [{ type: "text", text: "Hi" }], name: "ann" },
    {
      role: "assistant",
      content: null,
      reasoning_content: "hm",
      tool_calls: [{ id: "a", type: "function", function: { name: "f", arguments: "{bad" } }],
    },
    { role: "tool", tool_call_id: "a", content: "" },
  ]);
  expect(system).toMatchObject({ role: "developer", parts: [{ kind: "text", text: "Be brief." }] });
  expect(user).toMatchObject({ name: "ann", parts: [{ kind: "text", text: "Hi" }] });
  expect(assistant?.parts).toEqual([
    { kind: "reasoning", text: "hm" },
    { kind: "call", id: "a", name: "f", arguments: "{bad" },
  ]);
  expect(tool).toMatchObject({ answers: "a", parts: [{ kind: "text", text: "" }] });
});

test("null content is no content, and a text that is no JSON is the words of its role", () => {
  expect(messagesOf([{ role: "assistant", content: null }])[0]?.parts).toEqual([]);
  expect(messagesInText(unmarked("[1, 2"), "user")).toMatchObject([
    { role: "user", parts: [{ kind: "text", text: "[1, 2" }] },
  ]);
  expect(messagesInText(unmarked("[1, 2]"), "user")).toMatchObject([
    { role: "user", parts: [{ kind: "text", text: "[1, 2]" }] },
  ]);
});

test("a reply as Treadle's own sessions record it is the assistant's", () => {
  const text = JSON.stringify({
    text: null,
    reasoning: "why",
    tool_calls: [{ id: "c", name: "grep", arguments: '{"pattern": "x"}' }],
  });
  expect(messagesInText(unmarked(text), "assistant")).toEqual([
    {
      role: "assistant",
      name: null,
      answers: null,
      failed: false,
      parts: [
        { kind: "reasoning", text: "why" },
        { kind: "call", id: "c", name: "grep", arguments: '{"pattern": "x"}' },
      ],
    },
  ]);
});

test("an attachment that is kept apart is named by its blob wherever it stands", () => {
  const blob = { blob: "ab".repeat(32), media_type: "image/png", bytes: 4_000, base64: true };
  const marked = wholeText(
    [
      {
        text: '[{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,',
      },
      blob,
      { text: '"}}, {"type": "text", "text": "see ' },
      blob,
      { text: ' here"}]}]' },
    ],
    [],
  );
  const attachment = {
    kind: "attachment",
    name: null,
    mediaType: "image/png",
    bytes: 4_000,
    source: { at: "blob", digest: blob.blob },
  };
  expect(messagesInText(marked, "user")[0]?.parts).toEqual([
    attachment,
    { kind: "text", text: "see " },
    attachment,
    { kind: "text", text: " here" },
  ]);
});

test("a text that imitates a mark stays a text", () => {
  const marked = wholeText([{ text: "[attachment 00000000-0000 0]" }], []);
  expect(messagesInText(marked, "user")[0]?.parts).toEqual([
    { kind: "text", text: "[attachment 00000000-0000 0]" },
  ]);
});

test("images by address are never loaded, short ones in the text are measured", () => {
  const parts = messagesOf([
    {
      role: "user",
      content: [
        { type: "image_url", image_url: { url: "https://example.org/a.png" } },
        { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } },
        {
          type: "file",
          file: { filename: "a.pdf", file_data: "data:application/pdf;base64,AAA=" },
        },
        { type: "strange", value: 1 },
      ],
    },
  ])[0]?.parts;
  expect(parts).toMatchObject([
    { kind: "attachment", source: { at: "elsewhere", address: "https://example.org/a.png" } },
    { kind: "attachment", mediaType: "audio/wav", bytes: 3, source: { at: "inline" } },
    { kind: "attachment", name: "a.pdf", mediaType: "application/pdf", bytes: 2 },
    { kind: "other", type: "strange" },
  ]);
});
