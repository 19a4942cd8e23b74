// Threads
import { Screen } from "../../shell/Screen";

export function ThreadsScreen() {
  return <Screen title="Threads">…</Screen>;
}
