// New experiment
import { Screen } from "../../shell/Screen";

export function NewExperimentScreen() {
  return <Screen title="New experiment">…</Screen>;
}
