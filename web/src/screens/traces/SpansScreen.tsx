// Spans
import { Screen } from "../../shell/Screen";

export function SpansScreen() {
  return <Screen title="Spans">…</Screen>;
}
