// Proposals
import { Screen } from "../../shell/Screen";

export function ProposalsScreen() {
  return <Screen title="Proposals">…</Screen>;
}
