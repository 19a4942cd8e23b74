// The live connection when it breaks: it reconnects and resumes without duplicates.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { LiveEvent } from "./events";
import { LiveSocket } from "./socket";

class FakeWebSocket {
  static made: FakeWebSocket[] = [];
  onopen: (() => void) | null = null;
  onmessage: ((message: { data: string }) => void) | null = null;
  onclose: (() => void) | null = null;
  closed = false;

  constructor(readonly url: string) {
    FakeWebSocket.made.push(this);
  }

  close(): void {
    this.closed = true;
  }

  say(event: object): void {
    this.onmessage?.({ data: JSON.stringify(event) });
  }
}

const made = () => FakeWebSocket.made.at(-1) as FakeWebSocket;
let heard: LiveEvent[] = [];
let socket: LiveSocket;

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("WebSocket", FakeWebSocket);
  FakeWebSocket.made = [];
  heard = [];
  socket = new LiveSocket((after) => `ws://here?after=${after}`);
  socket.listen((event) => heard.push(event));
  socket.open();
  made().onopen?.();
});

afterEach(() => {
  socket.close();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("a connection that breaks is tried again and continues behind the last event", () => {
  made().say({ type: "Notice", seq: 7 });
  made().onclose?.();
  expect(socket.connection.state).toBe("lost");
  vi.advanceTimersByTime(500);
  expect(made().url).toBe("ws://here?after=7");
  made().onopen?.();
  expect(socket.connection).toEqual({ state: "open", retryAt: null });
});

test("a connection that breaks before any event continues from where it was opened", () => {
  made().say({ type: "open", after: 3 });
  made().onclose?.();
  vi.advanceTimersByTime(500);
  expect(made().url).toBe("ws://here?after=3");
});

test("it waits longer from time to time, never more than ten seconds", () => {
  const waits: number[] = [];
  for (let time = 0; time < 8; time += 1) {
    made().onclose?.();
    waits.push((socket.connection.retryAt ?? 0) - Date.now());
    vi.advanceTimersByTime(10_000);
  }
  expect(waits).toEqual([500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000, 10_000]);
});

test("a person may try at once, and only one connection comes of it", () => {
  made().onclose?.();
  socket.retryNow();
  vi.advanceTimersByTime(60_000);
  expect(FakeWebSocket.made.filter((each) => !each.closed)).toHaveLength(1);
});

test("a server that refuses the page is not reported as unreachable", async () => {
  let refuses = true;
  socket.close();
  socket = new LiveSocket(
    () => "ws://here",
    () => Promise.resolve(refuses),
  );
  socket.open();
  made().onclose?.();
  await vi.advanceTimersByTimeAsync(0);
  expect(socket.connection).toEqual({ state: "refused", retryAt: Date.now() + 500 });

  refuses = false; // the server has stopped
  await vi.advanceTimersByTimeAsync(500);
  made().onclose?.();
  await vi.advanceTimersByTimeAsync(0);
  expect(socket.connection.state).toBe("lost");
});

test("a silence means that the connection is gone", () => {
  vi.advanceTimersByTime(30_000);
  made().say({ type: "alive" });
  vi.advanceTimersByTime(30_000);
  expect(socket.connection.state).toBe("open");
  vi.advanceTimersByTime(15_000);
  expect(socket.connection.state).toBe("lost");
});

test("a gap is heard, and the next event is the one behind it", () => {
  made().say({ type: "Notice", seq: 7 });
  made().say({ type: "gap", after: 7, next: 40 });
  made().onclose?.();
  vi.advanceTimersByTime(500);
  expect(made().url).toBe("ws://here?after=39");
  expect(heard.map((event) => event.type)).toEqual(["Notice", "gap"]);
});

test("what comes over a connection that was given up is not heard", () => {
  const old = made();
  const hear = old.onmessage;
  made().onclose?.();
  vi.advanceTimersByTime(500);
  expect(old.closed).toBe(true);
  expect(old.onmessage).toBeNull();
  expect(hear).not.toBeNull();
});
