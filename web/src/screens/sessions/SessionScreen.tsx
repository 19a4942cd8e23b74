// Session
import { Screen } from "../../shell/Screen";

export function SessionScreen() {
  return <Screen title="Session">…</Screen>;
}
