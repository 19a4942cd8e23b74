// Settings
import { Screen } from "../../shell/Screen";

export function SettingsScreen() {
  return <Screen title="Settings">…</Screen>;
}
