// A turn that is followed while it runs, and afterwards.
import { useMutation } from "@tanstack/react-query";
import { useEffect } from "react";
import { client, ok } from "../../api/client";
import { ErrorNotice } from "../../components/States";
import { outcomeOf } from "../turn/outcome";
import { TurnView } from "../turn/TurnView";
import { useTurn } from "../turn/useTurn";
import { type Exchange, savedTurn } from "./saved";
import type { LiveTurn } from "./useConversation";

export interface Ended {
  requestId: string;
  state: string;
  answer: string | null;
}

interface Props {
  live: LiveTurn;
  /** What is saved of it, for when its events are kept no more. */
  exchange: Exchange | null;
  agent: string;
  onAskAgain: (question: string) => void;
  /** Told how it is: that it runs and can be stopped, then how it ended. */
  onRunning: (requestId: string, stop: (() => void) | null) => void;
  onEnded: (ended: Ended) => void;
}

export function LiveTurnView({ live, exchange, agent, onAskAgain, onRunning, onEnded }: Props) {
  const { requestId, question } = live;
  const followed = useTurn(requestId);
  const events = Object.keys(followed.turn.sessions).length > 0;
  const turn = !events && exchange ? savedTurn(exchange, agent) : followed.turn;
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
      {!events && exchange && followed.isForgotten && (
        <p>The steps of the agents are kept in its trace alone.</p>
      )}
      {trouble && (
        <ErrorNotice
          what={followed.error ? "What happens in it could not be read" : "It could not be stopped"}
          error={trouble}
          onRetry={followed.error ? followed.readAgain : () => stop()}
        />
      )}
    </>
  );
}
