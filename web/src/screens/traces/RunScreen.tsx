// Run
import { Screen } from "../../shell/Screen";

export function RunScreen() {
  return <Screen title="Run">…</Screen>;
}
