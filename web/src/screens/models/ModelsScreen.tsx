// Models
import { Screen } from "../../shell/Screen";

export function ModelsScreen() {
  return <Screen title="Models">…</Screen>;
}
