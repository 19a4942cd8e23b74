// The analyst on the whole page, next to the history of its conversations.
import { Button } from "../components/Button";
import { Screen } from "../shell/Screen";
import styles from "./AnalystScreen.module.css";
import { AnalystConversation, useFocusOnField } from "./conversation/AnalystConversation";
import { NEW, useAnalystDock } from "./dock";
import { History } from "./history/History";

export function AnalystScreen() {
  const dock = useAnalystDock();
  useFocusOnField();
  return (
    <Screen
      title="Analyst"
      fill
      actions={
        <>
          <Button small onPress={() => dock.show(NEW)}>
            New conversation
          </Button>
          <Button small onPress={dock.toggle} keys="a" tip="Show next to the threads">
            Dock
          </Button>
        </>
      }
    >
      <div className={styles.columns}>
        <nav className={styles.history} aria-label="Conversations">
          <History shown={dock.conversation} onOpen={dock.show} />
        </nav>
        <AnalystConversation id={dock.conversation} onBegun={dock.show} />
      </div>
    </Screen>
  );
}
