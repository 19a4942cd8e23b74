// Experiments
import { Screen } from "../../shell/Screen";

export function ExperimentsScreen() {
  return <Screen title="Experiments">…</Screen>;
}
