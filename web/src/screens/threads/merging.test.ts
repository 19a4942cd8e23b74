import { expect, test } from "vitest";
import { type Message, textMessage } from "../../components/messages/message";
import { addedBy, addedByEach, type Call, merged } from "./merging";

const ROLES: Record<string, string> = { s: "system", u: "user", a: "assistant", t: "tool" };

/** "u:hello a:hi": one message each. */
function said(text: string): Message[] {
  return text
    .split(" ")
    .filter(Boolean)
    .map((each) => textMessage(ROLES[each.charAt(0)] ?? "user", each.slice(2)));
}

const shown = (messages: readonly Message[]) =>
  messages
    .map(({ role, parts: [part] }) => `${role.charAt(0)}:${part?.kind === "text" ? part.text : ""}`)
    .join(" ");

/** A call whose reply is its last message, if that is the model's. */
function call(text: string): Call {
  const messages = said(text);
  const ends = messages.at(-1)?.role === "assistant" ? messages.length - 1 : messages.length;
  return { request: messages.slice(0, ends), reply: messages.slice(ends) };
}

const each = (...runs: string[]) => addedByEach(runs.map(call)).map(shown);

test("a request that repeats the conversation adds what is new", () => {
  expect(
    each("s:be u:1 a:one", "s:be u:1 a:one u:2 a:two", "s:be u:1 a:one u:2 a:two u:3"),
  ).toEqual(["s:be u:1 a:one", "u:2 a:two", "u:3"]);
});

test("a request without what came before adds all of it, but no instruction twice", () => {
  expect(each("s:be u:hello a:hi", "s:be u:hello a:hi")).toEqual([
    "s:be u:hello a:hi",
    "u:hello a:hi",
  ]);
  expect(each("s:be u:hello a:hi", "s:be u:hello a:again")).toEqual([
    "s:be u:hello a:hi",
    "u:hello a:again",
  ]);
});

test("a run that failed leaves its question; what is asked again is not shown twice", () => {
  expect(each("u:1 a:one", "u:1 a:one u:2", "u:1 a:one u:2 a:two")).toEqual([
    "u:1 a:one",
    "u:2",
    "a:two",
  ]);
  expect(each("u:1 a:one", "u:1 a:one u:2", "u:1 a:one u:3 a:three")).toEqual([
    "u:1 a:one",
    "u:2",
    "u:3 a:three",
  ]);
});

test("a history that was shortened still joins where it repeats an answer", () => {
  expect(shown(addedBy(said("u:1 a:one u:2 a:two"), call("s:summary a:two u:3 a:three")))).toBe(
    "u:3 a:three",
  );
});

test("calls that hold only what is new are put together", () => {
  const all = ({ request, reply }: Call) => shown([...request, ...reply]);
  expect(all(merged([call("u:1 a:call"), call("t:result a:done")]))).toBe(
    "u:1 a:call t:result a:done",
  );
  expect(all(merged([call("u:1 a:call"), call("u:1 a:call t:result a:done")]))).toBe(
    "u:1 a:call t:result a:done",
  );
});

test("a message is known again whatever form a client sends it back in", () => {
  const asked = { kind: "call" as const, id: "1", name: "f", arguments: "{}" };
  const answer = { ...textMessage("assistant", null), parts: [asked] };
  const back = {
    ...answer,
    parts: [
      { kind: "text" as const, text: "" },
      { ...asked, id: "2" },
    ],
  };
  const result = said("t:result");
  expect(addedBy([answer], { request: [back, ...result], reply: [] })).toEqual(result);
});
