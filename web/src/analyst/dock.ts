// Whether the analyst is docked beside the screen, and with which conversation: in the address.
import { useNavigate, useRouterState, useSearch } from "@tanstack/react-router";

export interface DockSearch {
  /** The conversation of the analyst: its id, or "new". Beside a screen absent: it is closed. */
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
    /** It has the whole page, and is docked nowhere. */
    isWhole,
    isOpen: analyst !== undefined && !isWhole,
    conversation: analyst ?? NEW,
    /** Show a conversation, or, with undefined, close the panel. */
    show: (next: string | undefined) => go(".", next),
    /** Open or close the panel; from the whole page, put it beside the threads. */
    toggle: () => {
      if (isWhole) go("/threads", conversation);
      else go(".", analyst === undefined ? conversation : undefined);
    },
    widen: () => go("/analyst", conversation),
  };
}
