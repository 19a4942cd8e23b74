// The state of the analyst's panel in the address: whether it is open, and with which
// conversation.
import { useNavigate, useRouterState, useSearch } from "@tanstack/react-router";

export interface DockSearch {
  /**
   * The id of the analyst's conversation, or "new". Absent next to a screen: the panel is closed.
   */
  analyst?: string;
}

export const NEW = "new";
const LAST = "treadle.analyst.conversation";

export function useAnalystDock() {
  const { analyst } = useSearch({ strict: false }) as DockSearch;
  const isWhole = useRouterState({ select: (state) => state.location.pathname === "/analyst" });
  const navigate = useNavigate();
  const go = (to: string, conversation: string | undefined) => {
    if (conversation) sessionStorage.setItem(LAST, conversation);
    const here = to === ".";
    const search = (now: DockSearch) => ({ ...(here ? now : {}), analyst: conversation });
    void navigate({ to, search, replace: here } as never);
  };
  const conversation = analyst ?? sessionStorage.getItem(LAST) ?? NEW;
  return {
    /** It has the whole page and is not docked. */
    isWhole,
    isOpen: analyst !== undefined && !isWhole,
    conversation: analyst ?? NEW,
    /** Shows a conversation, or closes the panel for undefined. */
    show: (next: string | undefined) => go(".", next),
    /** Opens or closes the panel; from the whole page, docks it next to the threads. */
    toggle: () => {
      if (isWhole) go("/threads", conversation);
      else go(".", analyst === undefined ? conversation : undefined);
    },
    widen: () => go("/analyst", conversation),
  };
}
