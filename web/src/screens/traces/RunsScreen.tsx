// Runs
import { Screen } from "../../shell/Screen";

export function RunsScreen() {
  return <Screen title="Runs">…</Screen>;
}
