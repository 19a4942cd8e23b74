// Reports that the connection is lost or refused, shows the next try, and can reconnect at once.
import { useEffect, useState } from "react";
import { Button } from "../components/Button";
import { useConnection } from "../live/LiveProvider";
import styles from "./ConnectionBanner.module.css";

export function ConnectionBanner() {
  const { state, retryAt, retryNow } = useConnection();
  const seconds = useSecondsUntil(retryAt);
  return (
    <div role="status" aria-live="polite">
      {(state === "lost" || state === "refused") && (
        <div className={styles.banner}>
          <strong>
            {state === "lost"
              ? "The server is not reachable."
              : "The server does not know who you are."}
          </strong>
          <span>
            {state === "lost"
              ? "The page may show old data. "
              : "Open the link that `treadle serve` printed when it started, or sign in again. "}
            Trying again{seconds > 0 ? ` in ${seconds} s` : " now"}. The page then shows everything
            that happened in between.
          </span>
          {state === "refused" && <a href="/sign-in">Sign in</a>}
          <Button small onPress={retryNow}>
            Try now
          </Button>
        </div>
      )}
    </div>
  );
}

function useSecondsUntil(moment: number | null): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (moment === null) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, [moment]);
  return moment === null ? 0 : Math.max(0, Math.ceil((moment - now) / 1_000));
}
