// Thread
import { Screen } from "../../shell/Screen";

export function ThreadScreen() {
  return <Screen title="Thread">…</Screen>;
}
