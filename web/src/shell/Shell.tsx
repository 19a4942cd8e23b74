// The frame of all screens: the navigation, the state of the connection, the analyst.
import { Outlet, useSearch } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { useAnalystDock } from "../analyst/dock";
import { useChangesElsewhere } from "../live/useChangesElsewhere";
import { ShortcutHelp } from "../shortcuts/ShortcutHelp";
import { useShortcut } from "../shortcuts/ShortcutProvider";
import type { SourceSearch } from "../sources/address";
import { ConnectionBanner } from "./ConnectionBanner";
import { Navigation } from "./Navigation";
import styles from "./Shell.module.css";

const SourceDialog = lazy(() =>
  import("../sources/SourceDialog").then((module) => ({ default: module.SourceDialog })),
);

const AnalystPanel = lazy(() =>
  import("../analyst/AnalystPanel").then((module) => ({ default: module.AnalystPanel })),
);

export function Shell() {
  const dock = useAnalystDock();
  const { source } = useSearch({ strict: false }) as SourceSearch;
  useChangesElsewhere();
  useShortcut({ keys: "a", does: "Open or close the analyst", where: "Everywhere" }, dock.toggle);
  return (
    <div className={styles.shell} data-docked={dock.isOpen}>
      <a className={styles.skip} href="#main">
        Skip to the content
      </a>
      <Navigation />
      <main id="main" className={styles.main} tabIndex={-1}>
        <ConnectionBanner />
        <Outlet />
      </main>
      {dock.isOpen && (
        <aside className={styles.dock} aria-label="Analyst">
          <Suspense>
            <AnalystPanel />
          </Suspense>
        </aside>
      )}
      {source !== undefined && (
        <Suspense>
          <SourceDialog />
        </Suspense>
      )}
      <ShortcutHelp />
    </div>
  );
}
