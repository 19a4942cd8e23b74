// Sessions
import { Screen } from "../../shell/Screen";

export function SessionsScreen() {
  return <Screen title="Sessions">…</Screen>;
}
