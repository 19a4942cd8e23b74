// A saved turn. The steps of called agents are read from the events on request.
import { type ReactNode, useState } from "react";
import { LiveTurnView } from "./LiveTurnView";
import type { SavedTurn } from "./savedTurn";
import { TurnView } from "./turn/TurnView";
import { rootOf } from "./turn/turn";
import { isAgentCall } from "./turn/wording";

interface Props {
  saved: SavedTurn;
  onAskAgain: (question: string) => void;
  /** Shown at the end of the turn's last line. */
  footer?: ReactNode;
}

export function SavedTurnView({ saved, onAskAgain, footer }: Props) {
  const [isWhole, showWhole] = useState(false);
  const { question, context, requestId, turn, outcome } = saved;
  if (isWhole && requestId) {
    return (
      <LiveTurnView
        live={{ requestId, question }}
        saved={turn}
        onAskAgain={onAskAgain}
        onRunning={ignored}
        onEnded={ignored}
      />
    );
  }
  const items = rootOf(turn)?.items ?? [];
  const hasAgents = items.some((item) => item.kind === "call" && isAgentCall(item));
  return (
    <TurnView
      question={question}
      context={context}
      turn={turn}
      outcome={outcome}
      onAskAgain={outcome.trouble ? () => onAskAgain(question) : null}
      onStop={null}
      footer={footer}
      {...(hasAgents && requestId ? { onAllSteps: () => showWhole(true) } : {})}
    />
  );
}

function ignored(): void {}
