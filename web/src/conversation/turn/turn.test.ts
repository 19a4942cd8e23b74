// How events become the shown turn: however they arrive, the result is the same.
import { describe, expect, it } from "vitest";
import type { LiveEvent } from "../../live/events";
import { type TurnEvent, turnEvent } from "./events";
import { TurnFeed } from "./feed";
import cancelled from "./recorded/cancelled.json";
import failed from "./recorded/failed.json";
import nested from "./recorded/nested.json";
import retried from "./recorded/retried.json";
import { applied, appliedAll, begunBy, type Call, emptyTurn, rootOf, type Turn } from "./turn";

type Recorded = readonly LiveEvent[];
const RECORDED: Record<string, Recorded> = { nested, retried, cancelled, failed };

function requestOf(events: Recorded): string {
  return String(events.find((each) => each.type === "SessionStarted")?.request_id);
}

function turnOf(events: Recorded): Turn {
  const known = events.map(turnEvent).filter((each) => each !== null);
  return appliedAll(emptyTurn(requestOf(events)), known);
}

function callsOf(turn: Turn, requestId = turn.requestId): Call[] {
  return (turn.sessions[requestId]?.items ?? []).filter((item) => item.kind === "call");
}

describe("a turn", () => {
  it("shows the agents that a call began below it, and what each did", () => {
    const turn = turnOf(nested);
    const [call] = callsOf(turn);
    if (!call) throw new Error("no call");
    expect(call.name).toBe("call_data");
    const [data, ...others] = begunBy(turn, turn.requestId, call.key);
    expect(others).toEqual([]);
    expect(data?.agent).toBe("data");
    expect(data?.state).toBe("done");
    const made = callsOf(turn, data?.requestId);
    expect(made.map((each) => [each.name, each.state])).toEqual([
      ["list_labels", "done"],
      ["final", "done"],
    ]);
    expect(rootOf(turn)?.answer).toBe("There are none.");
    expect(rootOf(turn)?.items.find((item) => item.kind === "reasoning")?.kind).toBe("reasoning");
  });

  it("says why it was asked again, and shows the reply of the attempt that counts alone", () => {
    const root = rootOf(turnOf(retried));
    const notes = root?.items.filter((item) => item.kind === "note") ?? [];
    expect(notes.some((note) => note.text.startsWith("Retrying in"))).toBe(true);
    const texts = root?.items.flatMap((item) => (item.kind === "text" ? [item.text] : []));
    expect(texts).toEqual([root?.answer]);
  });

  it("that failed keeps the messages until then, and why", () => {
    const root = rootOf(turnOf(failed));
    expect(root?.items).toContainEqual({ kind: "text", turn: 0, text: "There are some" });
    expect(root?.error?.message).toBeTruthy();
    expect(root?.answer).toBeNull();
  });

  it("drops what a reply said before another model was asked for the same", () => {
    const before = turnOf(failed.slice(0, failed.length - 2));
    const again = failed.find((each) => each.type === "ModelRequestStarted");
    const after = applied(before, { ...again, seq: before.seq + 1 } as unknown as TurnEvent);
    expect(rootOf(after)?.items.filter((item) => item.kind === "text")).toEqual([]);
  });

  it("that was cancelled has no call that still runs", () => {
    const turn = turnOf(cancelled);
    expect(Object.values(turn.sessions).map((each) => each.state)).toEqual(
      Object.values(turn.sessions).map(() => "cancelled"),
    );
    for (const session of Object.keys(turn.sessions)) {
      for (const call of callsOf(turn, session)) expect(call.state).not.toBe("running");
    }
  });

  it("of another server is the same, although the page's server numbers its events", () => {
    const events = nested as Recorded;
    const last = events.length - 1;
    const relayed = events.map((each, place) =>
      place < 3 ? each : { ...each, seq: 1000 - place, origin_seq: each.seq },
    );
    expect(turnOf(relayed as Recorded)).toEqual(turnOf(events));
    expect(turnOf([...relayed, relayed[last]] as Recorded)).toEqual(turnOf(events));
  });

  it("is not changed by events of others, nor by one that comes twice", () => {
    const events = nested as Recorded;
    const foreign = events.map((each) => ({ ...each, request_id: "other", parent_id: "other" }));
    const doubled = events.flatMap((each, place) => [each, foreign[place], each]);
    expect(turnOf(doubled as Recorded)).toEqual(turnOf(events));
  });
});

describe("the feed of a turn", () => {
  for (const [name, events] of Object.entries(RECORDED)) {
    it(`comes to the same end wherever the page comes in (${name})`, async () => {
      const whole = turnOf(events);
      for (let seen = 0; seen <= events.length; seen += 1) {
        for (const lag of [0, 1, 5]) {
          expect(await fedWith(events, seen, lag)).toEqual(whole);
        }
      }
    });

    it(`comes to the same end after a gap anywhere (${name})`, async () => {
      const whole = turnOf(events);
      for (let lost = 0; lost < events.length; lost += 1) {
        const feed = feedOf(events, () => events.slice(0, lost + 3));
        await feed.start();
        for (const event of events.slice(lost + 3)) feed.hear(event);
        feed.hear({ type: "gap", after: 0, next: 1 });
        expect(feed.shown.turn).not.toBeNull();
        for (const event of events.slice(lost)) feed.hear(event);
        await settled();
        expect(feed.shown.turn).toEqual(whole);
      }
    });
  }

  it("says where the beginning is kept no more", async () => {
    const feed = feedOf(nested, () => (nested as Recorded).slice(8));
    await feed.start();
    expect(feed.shown.state).toBe("lost");
  });

  it("keeps what it has where the replay fails, and says so", async () => {
    const feed = feedOf(nested, () => {
      throw new Error("no answer");
    });
    await feed.start();
    expect(feed.shown.error).toBeInstanceOf(Error);
  });
});

/** The page receives live events from `seen - lag` on, and reads those before `seen` at once. */
async function fedWith(events: Recorded, seen: number, lag: number): Promise<Turn> {
  const feed = feedOf(events, () => events.slice(0, seen));
  const started = feed.start();
  for (const event of events.slice(Math.max(0, seen - lag), seen + lag)) feed.hear(event);
  await started;
  for (const event of events.slice(seen)) feed.hear(event);
  await settled();
  return feed.shown.turn;
}

function feedOf(events: Recorded, replay: () => Recorded): TurnFeed {
  return new TurnFeed(
    requestOf(events),
    async () => replay(),
    (run) => {
      const timer = setTimeout(run, 0);
      return () => clearTimeout(timer);
    },
  );
}

function settled(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1));
}
