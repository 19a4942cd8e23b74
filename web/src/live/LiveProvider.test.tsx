// What is read again when the live connection opens: everything that may be older than its first
// event.
import { QueryClient, QueryClientProvider, useQuery } from "@tanstack/react-query";
import { act, render, screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { SilentSocket } from "../testing/SilentSocket";
import { LiveProvider } from "./LiveProvider";

function Shown({ read }: { read: () => Promise<string> }) {
  return <p>{useQuery({ queryKey: ["shown"], queryFn: read }).data ?? "nothing"}</p>;
}

test("a first reading that was on its way when the connection opened is followed by another", async () => {
  const socket = new SilentSocket();
  const answers: ((value: string) => void)[] = [];
  const read = () => new Promise<string>((answer) => answers.push(answer));
  render(
    <QueryClientProvider client={new QueryClient()}>
      <LiveProvider socket={socket}>
        <Shown read={read} />
      </LiveProvider>
    </QueryClientProvider>,
  );

  await act(async () => socket.say({ type: "open", after: 3 }));
  expect(answers).toHaveLength(1);
  await act(async () => answers[0]?.("as it was"));
  await screen.findByText("as it was");
  expect(answers).toHaveLength(2);
  await act(async () => answers[1]?.("as it is"));
  await screen.findByText("as it is");
});
