// A list that is refreshed and followed at the same time keeps the newer answer.
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, renderHook } from "@testing-library/react";
import type { ReactNode } from "react";
import { expect, test } from "vitest";
import { LiveProvider } from "../../live/LiveProvider";
import { pause } from "../../live/pause";
import { SilentSocket } from "../../testing/SilentSocket";
import type { RowPage } from "./liveRows";
import { useRowList } from "./useRowList";

type Answer = (rows: string[]) => void;

test("a reading that was on its way does not undo what a later one found", async () => {
  const socket = new SilentSocket();
  const queries = new QueryClient();
  const asked: { answer: Answer; rows: string[] }[] = [];
  let recorded = ["old"];
  const read = () =>
    new Promise<RowPage<string>>((resolve) => {
      const answer = (data: string[]) =>
        resolve({ data, pagination: { total: data.length, next_cursor: null } });
      asked.push({ answer, rows: recorded });
    });
  const answerAll = async () => {
    for (let time = 0; time < 20; time += 1) {
      await act(async () => {
        const last = asked.pop(); // the newest requests are answered first
        last?.answer(last.rows);
        await pause(5);
      });
    }
  };
  const around = ({ children }: { children: ReactNode }) => (
    <QueryClientProvider client={queries}>
      <LiveProvider socket={socket}>{children}</LiveProvider>
    </QueryClientProvider>
  );
  const given = { key: ["list"], read, idOf: String, events: ["SpanEnded"] };
  const { result } = renderHook(() => useRowList(given), { wrapper: around });
  await answerAll();
  expect(result.current.rows).toEqual(["old"]);

  await act(async () => void queries.invalidateQueries());
  recorded = ["new", "old"];
  await act(async () => socket.say({ type: "SpanEnded" }));
  await answerAll();

  expect(result.current.waiting.added).toBe(1);
});
