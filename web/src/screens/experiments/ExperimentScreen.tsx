// Experiment
import { Screen } from "../../shell/Screen";

export function ExperimentScreen() {
  return <Screen title="Experiment">…</Screen>;
}
