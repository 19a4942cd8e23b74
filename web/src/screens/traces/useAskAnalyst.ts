// Opens the analyst next to the current screen, whose address is its context.
import { NEW, useAnalystDock } from "../../analyst/dock";

export function useAskAnalyst(): () => void {
  const dock = useAnalystDock();
  return () => dock.show(dock.isOpen ? dock.conversation : NEW);
}
