// The list of all shortcuts of this screen, opened with `?`.
import { useState } from "react";
import { Dialog } from "../components/Dialog";
import { shownKeys } from "./keys";
import styles from "./ShortcutHelp.module.css";
import { type Shortcut, useShortcut, useShortcuts } from "./ShortcutProvider";

export function ShortcutHelp() {
  const [shown, show] = useState(false);
  useShortcut({ keys: "?", does: "Show keyboard shortcuts", where: "Everywhere" }, () =>
    show(true),
  );
  return (
    <Dialog title="Keyboard shortcuts" isOpen={shown} onOpenChange={show}>
      <Listed />
    </Dialog>
  );
}

function Listed() {
  const places = Map.groupBy(useShortcuts(), (each) => each.where);
  return (
    <div className={styles.places}>
      {[...places].map(([where, shortcuts]) => (
        <section key={where}>
          <h3>{where}</h3>
          <dl className={styles.list}>
            {unique(shortcuts).map((each) => (
              <div key={each.keys} className={styles.line}>
                <dt>
                  {shownKeys(each.keys).map((key) => (
                    <kbd key={key}>{key}</kbd>
                  ))}
                </dt>
                <dd>{each.does}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </div>
  );
}

function unique(shortcuts: readonly Shortcut[]): Shortcut[] {
  return [...new Map(shortcuts.map((each) => [each.keys, each])).values()];
}
