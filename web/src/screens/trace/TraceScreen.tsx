// Trace
import { Screen } from "../../shell/Screen";

export function TraceScreen() {
  return <Screen title="Trace">…</Screen>;
}
