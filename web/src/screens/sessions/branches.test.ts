import { expect, test } from "vitest";
import type { Session } from "../../api/schema";
import { openFrom, type Saved, treeOf } from "./branches";

function user(number: number, parent: number | null, stop: string | null = "completed"): Saved {
  const rest = { context: "", steers: false, state: "completed", at_us: number };
  return { number, parent, role: "user", text: `q${number}`, stop_reason: stop, ...rest } as Saved;
}

function reply(number: number, parent: number): Saved {
  const rest = {
    calls: [],
    state: "completed",
    at_us: number,
    stop_reason: null,
    request_id: null,
  };
  return { number, parent, role: "assistant", text: `a${number}`, ...rest } as Saved;
}

function session(branch: number[], messages: Saved[]): Session {
  return { branch, messages } as unknown as Session;
}

const TWO = [user(0, null), reply(1, 0), user(2, 1), reply(3, 2), user(4, 1), reply(5, 4)];

test("a turn begins with each message of the person", () => {
  const { turns, further } = treeOf(session([0, 1, 2, 3], TWO));
  expect(turns.map((turn) => [turn.question?.text, turn.end, turn.before])).toEqual([
    ["q0", 1, null],
    ["q2", 3, 1],
  ]);
  expect(turns.map((turn) => turn.others)).toEqual([[], [{ end: 5, text: "q4", at_us: 4 }]]);
  expect(further).toEqual([]);
});

test("branches behind the end are told, with where each ends", () => {
  const { turns, further } = treeOf(session([0, 1], TWO));
  expect(turns).toHaveLength(1);
  expect(further.map((fork) => [fork.text, fork.end])).toEqual([
    ["q2", 3],
    ["q4", 5],
  ]);
});

test("what steers belongs to the turn that it steered", () => {
  const steering = { ...user(2, 1), steers: true } as Saved;
  const { turns } = treeOf(
    session([0, 1, 2, 3], [user(0, null), reply(1, 0), steering, reply(3, 2)]),
  );
  expect(turns.map((turn) => turn.messages.length)).toEqual([4]);
});

test("a turn that has no end yet is known by its first place", () => {
  const running = [...TWO.slice(0, 2), user(2, 1, null), reply(3, 2)];
  expect(openFrom(session([0, 1, 2, 3], running))).toBe(2);
  expect(openFrom(session([0, 1, 2, 3], TWO))).toBeNull();
  expect(openFrom(session([], []))).toBeNull();
});
