// Tools
import { Screen } from "../../shell/Screen";

export function ToolsScreen() {
  return <Screen title="Tools">…</Screen>;
}
