// The analyst next to a screen.
import { useRouterState } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { Button } from "../components/Button";
import styles from "./AnalystPanel.module.css";
import { AnalystConversation, useFocusOnField } from "./conversation/AnalystConversation";
import { NEW, useAnalystDock } from "./dock";
import { History } from "./history/History";

export function AnalystPanel() {
  const dock = useAnalystDock();
  const [listing, list] = useState(false);
  useFocusOnField();
  useMakingRoom(() => dock.show(undefined));
  const open = (conversation: string) => {
    list(false);
    dock.show(conversation);
  };
  return (
    <>
      <header className={styles.header}>
        <h2>Analyst</h2>
        <div className={styles.actions}>
          <Button small kind="quiet" onPress={() => open(NEW)} tip="Start a new conversation">
            New
          </Button>
          <Button small kind="quiet" aria-expanded={listing} onPress={() => list(!listing)}>
            History
          </Button>
          <Button
            small
            kind="quiet"
            aria-label="Open as a full page"
            tip="Open as a full page"
            onPress={dock.widen}
          >
            ⤢
          </Button>
          <Button small kind="quiet" aria-label="Close the analyst" keys="a" onPress={dock.toggle}>
            ✕
          </Button>
        </div>
      </header>
      {listing ? (
        <div className={styles.history}>
          <History shown={dock.conversation} onOpen={open} />
        </div>
      ) : (
        <AnalystConversation id={dock.conversation} onBegun={dock.show} />
      )}
    </>
  );
}

/** On a narrow page the panel hides the screen, so it closes when a link opens another screen. */
function useMakingRoom(close: () => void): void {
  const shown = useRouterState({ select: shownScreen });
  const before = useRef(shown);
  useEffect(() => {
    if (before.current === shown) return;
    before.current = shown;
    if (window.matchMedia("(max-width: 48rem)").matches) close();
  });
}

function shownScreen({ location }: { location: { pathname: string; search: object } }): string {
  return JSON.stringify([location.pathname, { ...location.search, analyst: undefined }]);
}
