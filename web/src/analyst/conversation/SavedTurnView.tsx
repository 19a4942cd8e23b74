// A turn as it was saved; what the agents did that it called is read when a person asks for it.
import { useState } from "react";
import type { Run } from "../../api/schema";
import { TurnView } from "../turn/TurnView";
import { LiveTurnView } from "./LiveTurnView";
import { type Exchange, savedOutcome, savedTurn } from "./saved";

interface Props {
  exchange: Exchange;
  /** As what it is recorded, where that is known. */
  run: Run | null;
  agent: string;
  onAskAgain: (question: string) => void;
}

export function SavedTurnView({ exchange, run, agent, onAskAgain }: Props) {
  const [isWhole, showWhole] = useState(false);
  const { question, request_id: requestId } = exchange;
  if (isWhole && requestId) {
    return (
      <LiveTurnView
        live={{ requestId, question }}
        exchange={exchange}
        agent={agent}
        onAskAgain={onAskAgain}
        onRunning={ignored}
        onEnded={ignored}
      />
    );
  }
  const outcome = savedOutcome(exchange, run);
  const hasAgents = exchange.steps.some((step) =>
    step.calls.some((call) => call.name.startsWith("call_")),
  );
  return (
    <TurnView
      question={question}
      turn={savedTurn(exchange, agent)}
      outcome={outcome}
      onAskAgain={outcome.trouble ? () => onAskAgain(question) : null}
      onStop={null}
      {...(hasAgents && requestId ? { onAllSteps: () => showWhole(true) } : {})}
    />
  );
}

function ignored(): void {}
