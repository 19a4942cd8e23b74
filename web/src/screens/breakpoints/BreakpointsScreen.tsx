// Breakpoints
import { Screen } from "../../shell/Screen";

export function BreakpointsScreen() {
  return <Screen title="Breakpoints">…</Screen>;
}
