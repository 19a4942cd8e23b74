// The analyst on the whole page.
import { Screen } from "../shell/Screen";

export function AnalystScreen() {
  return <Screen title="Analyst">…</Screen>;
}
