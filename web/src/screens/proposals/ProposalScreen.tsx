// Proposal
import { Screen } from "../../shell/Screen";

export function ProposalScreen() {
  return <Screen title="Proposal">…</Screen>;
}
