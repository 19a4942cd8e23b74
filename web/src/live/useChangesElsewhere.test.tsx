// A deletion in another tab causes a refresh, but not while this page is changing something
// itself.
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, render } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { SilentSocket } from "../testing/SilentSocket";
import { LiveProvider } from "./LiveProvider";
import { useChangesElsewhere } from "./useChangesElsewhere";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function Page() {
  useChangesElsewhere();
  return null;
}

function opened() {
  const socket = new SilentSocket();
  const queries = new QueryClient();
  render(
    <QueryClientProvider client={queries}>
      <LiveProvider socket={socket}>
        <Page />
      </LiveProvider>
    </QueryClientProvider>,
  );
  const readings = vi.spyOn(queries, "invalidateQueries");
  return { socket, queries, readings };
}

test("many deletions are read after once", async () => {
  const { socket, readings } = opened();
  await act(async () => {
    for (let seq = 1; seq < 10; seq += 1) socket.say({ type: "SpansDeleted", seq });
  });
  await vi.advanceTimersByTimeAsync(2_000);
  expect(readings).toHaveBeenCalledTimes(1);
});

test("nothing is read while this page deletes something itself", async () => {
  const { socket, queries, readings } = opened();
  let answer: (value: unknown) => void = () => {};
  const deletion = queries
    .getMutationCache()
    .build(queries, { mutationFn: () => new Promise((done) => (answer = done)) })
    .execute(undefined);
  await act(async () => socket.say({ type: "ConversationChanged", seq: 1 }));
  await vi.advanceTimersByTimeAsync(5_000);
  expect(readings).not.toHaveBeenCalled();
  answer(null);
  await deletion;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(readings).toHaveBeenCalledTimes(1);
});
