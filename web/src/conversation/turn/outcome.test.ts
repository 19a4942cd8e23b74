// What a person sees of a turn, whatever is known about it.
import { describe, expect, it } from "vitest";
import type { TurnAnswer } from "../../api/schema";
import type { LiveEvent } from "../../live/events";
import { turnEvent } from "./events";
import { outcomeOf } from "./outcome";
import failed from "./recorded/failed.json";
import nested from "./recorded/nested.json";
import { appliedAll, emptyTurn, type Turn } from "./turn";

function turnOf(events: readonly LiveEvent[]): Turn {
  const request = String(events[0]?.request_id);
  return appliedAll(
    emptyTurn(request),
    events.map(turnEvent).filter((each) => each !== null),
  );
}

function answer(change: Partial<TurnAnswer>): TurnAnswer {
  return {
    request_id: "r",
    session_id: null,
    agent: "orchestrator",
    conversation_id: "c",
    state: "done",
    final: null,
    error: null,
    ...change,
  };
}

describe("the outcome of a turn", () => {
  it("has no answer before the server has held it against the record", () => {
    const turn = turnOf(nested);
    expect(outcomeOf({ turn, answer: null, isForgotten: false }).answer).toBeNull();
    const told = outcomeOf({ turn, answer: answer({}), isForgotten: false });
    expect([told.state, told.answer, told.trouble]).toEqual(["done", "There are none.", null]);
  });

  it("sums up what all agents took", () => {
    const { input, output } = outcomeOf({
      turn: turnOf(nested),
      answer: answer({}),
      isForgotten: false,
    });
    expect([input, output]).toEqual([40, 20]);
  });

  it("of one that failed says why, also where no event tells it", () => {
    const error = { message: "No key.", hint: "Enter one." };
    const turn = emptyTurn("r");
    const told = outcomeOf({
      turn,
      answer: answer({ state: "failed", error }),
      isForgotten: false,
    });
    expect(told.trouble).toMatchObject({ why: "No key.", hint: "Enter one." });
    expect(outcomeOf({ turn: turnOf(failed), answer: null, isForgotten: true }).state).toBe(
      "failed",
    );
  });

  it("of one that the server knows no more is that it was interrupted", () => {
    const turn = turnOf(nested.slice(0, 12));
    expect(outcomeOf({ turn, answer: null, isForgotten: true }).state).toBe("interrupted");
    expect(outcomeOf({ turn, answer: null, isForgotten: false }).state).toBe("running");
  });
});
