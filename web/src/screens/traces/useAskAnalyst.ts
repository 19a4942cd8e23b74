// Opens the analyst beside what is looked at: the address tells it what that is.
import { NEW, useAnalystDock } from "../../analyst/dock";

export function useAskAnalyst(): () => void {
  const dock = useAnalystDock();
  return () => dock.show(dock.isOpen ? dock.conversation : NEW);
}
