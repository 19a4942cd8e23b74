// Short notices at the edge of the page, which screen readers announce too.
import { createContext, type ReactNode, useCallback, useContext, useMemo, useState } from "react";
import { Button } from "./Button";
import styles from "./Notices.module.css";

export interface Notice {
  kind: "info" | "good" | "bad";
  text: string;
  /** An action that the person may take. */
  action?: { label: string; run: () => void };
}

interface Shown extends Notice {
  id: number;
}

interface NoticesApi {
  tell: (notice: Notice) => void;
}

const NoticesContext = createContext<NoticesApi | null>(null);
const STAY_MS = 6_000;
const MOST = 4;
let last = 0;

export function NoticesProvider({ children }: { children: ReactNode }) {
  const [shown, show] = useState<readonly Shown[]>([]);
  const drop = useCallback((id: number) => {
    show((now) => now.filter((each) => each.id !== id));
  }, []);
  const tell = useCallback(
    (notice: Notice) => {
      last += 1;
      const id = last;
      show((now) => [...now, { ...notice, id }].slice(-MOST));
      // A failure stays until the person closes it.
      if (notice.kind !== "bad") setTimeout(() => drop(id), STAY_MS);
    },
    [drop],
  );
  const api = useMemo(() => ({ tell }), [tell]);
  return (
    <NoticesContext value={api}>
      {children}
      <div className={styles.notices} role="status" aria-live="polite" aria-label="Notices">
        {shown.map((each) => (
          <div key={each.id} className={[styles.notice, styles[each.kind]].join(" ")}>
            <span>{each.text}</span>
            {each.action && (
              <Button small onPress={each.action.run}>
                {each.action.label}
              </Button>
            )}
            <Button kind="quiet" small aria-label="Dismiss" onPress={() => drop(each.id)}>
              ✕
            </Button>
          </div>
        ))}
      </div>
    </NoticesContext>
  );
}

export function useNotices(): NoticesApi {
  const api = useContext(NoticesContext);
  if (!api) throw new Error("NoticesProvider is missing");
  return api;
}
