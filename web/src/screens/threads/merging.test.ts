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

test("a history that was shortened joins where it repeats an answer, and its summary is shown", () => {
  expect(shown(addedBy(said("u:1 a:one u:2 a:two"), call("s:summary a:two u:3 a:three")))).toBe(
    "s:summary u:3 a:three",
  );
});

/** A call of the tool `list` and its result; without an id some clients send neither. */
function listed(id: string | null): Message[] {
  const part = { kind: "call" as const, id, name: "list", arguments: "{}" };
  return [
    { ...textMessage("assistant", null), parts: [part] },
    { ...textMessage("tool", "17, 18"), answers: id },
  ];
}

test.each([
  ["other ids", "1", "2"],
  ["the same ids", "1", "1"],
  ["no ids", null, null],
])("a run without history that repeats a tool call keeps its question: %s", (_, one, other) => {
  const first = { request: [...said("u:orders?"), ...listed(one)], reply: said("a:17,18") };
  const second = { request: [...said("u:cancel18!"), ...listed(other)], reply: said("a:done") };
  const [, added = []] = addedByEach([first, second]);
  expect(added).toEqual([...second.request, ...second.reply]);
});

test("the calls of a run that each send the question show it once", () => {
  const { request } = merged([call("s:route u:1 a:shop"), call("s:shop u:1 a:done")]);
  expect(shown(request)).toBe("s:route u:1 a:shop s:shop");
});

/** A generator of numbers below `most`, always the same for a seed. */
function numbers(seed: number): (most: number) => number {
  let state = seed;
  return (most) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * most);
  };
}

/** A thread whose runs send all of the history, its end, or none of it. */
function randomThread(seed: number): { calls: Call[]; sent: string[] } {
  const draw = numbers(seed);
  const history: Message[] = [];
  const sent: string[] = [];
  const calls = Array.from({ length: 1 + draw(7) }, (_, run) => {
    const question = said(`u:${draw(3)}`);
    sent.push(shown(question));
    const hasIds = draw(3) > 0;
    const used = draw(2) === 0 ? [] : listed(hasIds ? `${run}` : null);
    const reply = said(`a:${draw(2)}`);
    const shares = [history, history.slice(history.length - draw(history.length + 1)), []];
    const request = [...said("s:be"), ...(shares[draw(3)] ?? []), ...question, ...used];
    history.push(...question, ...used, ...reply);
    return { request, reply };
  });
  return { calls, sent };
}

test("each message of a person appears exactly once and in order", () => {
  for (let seed = 1; seed <= 500; seed += 1) {
    const { calls, sent } = randomThread(seed);
    const users = addedByEach(calls)
      .flat()
      .filter(({ role }) => role === "user");
    expect(
      users.map((message) => shown([message])),
      `thread ${seed}`,
    ).toEqual(sent);
  }
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
    parts: [{ kind: "text" as const, text: "" }, asked],
  };
  const result = said("t:result");
  expect(addedBy([answer], { request: [back, ...result], reply: [] })).toEqual(result);
});
