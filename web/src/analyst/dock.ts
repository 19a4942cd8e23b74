// Whether the analyst is docked beside the screen, and with which conversation: in the address.
import { useNavigate, useSearch } from "@tanstack/react-router";

export interface DockSearch {
  /** The conversation in the analyst's panel: its id, or "new". Absent: the panel is closed. */
  analyst?: string;
}

const LAST = "treadle.analyst.conversation";

export function useAnalystDock() {
  const { analyst } = useSearch({ strict: false }) as DockSearch;
  const navigate = useNavigate();
  const show = (conversation: string | undefined) => {
    if (conversation) sessionStorage.setItem(LAST, conversation);
    void navigate({
      to: ".",
      search: (now: DockSearch) => ({ ...now, analyst: conversation }),
      replace: true,
    } as never);
  };
  return {
    isOpen: analyst !== undefined,
    conversation: analyst ?? null,
    show,
    toggle: () => show(analyst === undefined ? (sessionStorage.getItem(LAST) ?? "new") : undefined),
  };
}
