// The navigation: a column next to the screen, or a menu above it on a narrow page.
import { Link, useRouter } from "@tanstack/react-router";
import { useState } from "react";
import { useAnalystDock } from "../analyst/dock";
import { Button } from "../components/Button";
import { WaitingNotice } from "../conversation/approvals/WaitingNotice";
import { useShortcut } from "../shortcuts/ShortcutProvider";
import { Account } from "./Account";
import styles from "./Navigation.module.css";
import { PLACES, type Place } from "./navigation";
import { ThemeChoice } from "./ThemeChoice";

export function Navigation() {
  const [isOpen, open] = useState(false);
  const dock = useAnalystDock();
  return (
    <header className={styles.bar} data-open={isOpen}>
      <div className={styles.top}>
        <Link to="/threads" className={styles.name}>
          <img src="/icon.svg" alt="" width="20" height="20" />
          Treadle
        </Link>
        <span className={styles.menu}>
          <Button small aria-expanded={isOpen} aria-controls="places" onPress={() => open(!isOpen)}>
            Menu
          </Button>
        </span>
      </div>
      <div className={styles.waiting}>
        <WaitingNotice />
      </div>
      <nav id="places" className={styles.places} aria-label="Screens">
        {PLACES.map((group) => (
          <ul key={group[0]?.name} className={styles.group}>
            {group.map((place) => (
              <Entry key={place.name} place={place} onChosen={() => open(false)} />
            ))}
          </ul>
        ))}
        <div className={styles.bottom}>
          <Button
            kind={dock.isOpen || dock.isWhole ? "primary" : "plain"}
            onPress={() => {
              open(false);
              dock.toggle();
            }}
            tip="Ask about the recorded traces"
            keys="a"
          >
            Analyst
          </Button>
          <ThemeChoice />
          <Account />
        </div>
      </nav>
    </header>
  );
}

function Entry({ place, onChosen }: { place: Place; onChosen: () => void }) {
  const router = useRouter();
  useShortcut({ keys: place.keys, does: `Go to ${place.name}`, where: "Everywhere" }, () => {
    void router.navigate({ to: place.to });
  });
  return (
    <li>
      <Link
        to={place.to}
        className={styles.place}
        activeProps={{ "data-current": true }}
        onClick={onChosen}
      >
        {place.name}
      </Link>
    </li>
  );
}
