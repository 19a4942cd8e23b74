// A turn that is followed by its events while it runs, and afterwards.
import { useMutation } from "@tanstack/react-query";
import { useEffect } from "react";
import { client, ok } from "../api/client";
import { ErrorNotice } from "../components/States";
import { outcomeOf } from "./turn/outcome";
import { TurnView } from "./turn/TurnView";
import type { Turn } from "./turn/turn";
import { useTurn } from "./turn/useTurn";

/** A turn that is followed: its events have more than the saved conversation. */
export interface LiveTurn {
  requestId: string;
  question: string;
}

export interface Ended {
  requestId: string;
  state: string;
  answer: string | null;
}

interface Props {
  live: LiveTurn;
  /** The saved turn, which is shown when its events are no longer available. */
  saved: Turn | null;
  onAskAgain: (question: string) => void;
  /** Receives the function that stops the turn while it runs, then null. */
  onRunning: (requestId: string, stop: (() => void) | null) => void;
  onEnded: (ended: Ended) => void;
}

export function LiveTurnView({ live, saved, onAskAgain, onRunning, onEnded }: Props) {
  const { requestId, question } = live;
  const followed = useTurn(requestId);
  const events = Object.keys(followed.turn.sessions).length > 0;
  const turn = !events && saved ? saved : followed.turn;
  const outcome = outcomeOf({ ...followed, turn });
  const stopping = useMutation({
    mutationFn: () =>
      ok(
        client.POST("/api/v1/turns/{request_id}/cancel", {
          params: { path: { request_id: requestId } },
        }),
      ),
  });
  const stop = stopping.mutate;
  const isRunning = outcome.state === "running";
  useEffect(() => {
    onRunning(requestId, isRunning ? stop : null);
    return () => onRunning(requestId, null);
  }, [requestId, isRunning, stop, onRunning]);
  const { state, answer } = outcome;
  useEffect(() => {
    if (state !== "running") onEnded({ requestId, state, answer });
  }, [requestId, state, answer, onEnded]);
  const trouble = followed.error ?? stopping.error;
  return (
    <>
      <TurnView
        question={question}
        turn={turn}
        outcome={outcome}
        onAskAgain={outcome.trouble ? () => onAskAgain(question) : null}
        onStop={isRunning ? stop : null}
      />
      {!events && saved && followed.isForgotten && (
        <p>The steps of the agents are only in the trace.</p>
      )}
      {trouble && (
        <ErrorNotice
          what={
            followed.error
              ? "The events of the turn could not be read"
              : "The turn could not be stopped"
          }
          error={trouble}
          onRetry={followed.error ? followed.readAgain : () => stop()}
        />
      )}
    </>
  );
}
