// The actions on the tree and its time axis.
import { Button } from "../../components/Button";
import { Menu } from "../../components/Menu";
import { TextField } from "../../components/TextField";
import { count } from "../../format/numbers";
import styles from "./Toolbar.module.css";
import type { Actions } from "./useActions";
import type { Found } from "./useFind";

interface Props {
  find: string;
  onFind: (text: string) => void;
  found: Found;
  /** The number of the selected match, from 1; 0 for none. */
  at: number;
  failed: number;
  isCritical: boolean;
  isZoomed: boolean;
  actions: Actions;
}

export function Toolbar({ find, onFind, found, at, failed, isCritical, isZoomed, actions }: Props) {
  return (
    <div className={styles.toolbar}>
      <div className={styles.group} ref={actions.findRef}>
        <TextField
          label="Find in this trace"
          hideLabel
          type="search"
          placeholder="Find in this trace"
          value={find}
          onChange={onFind}
          onKeyDown={(event) => {
            if (event.key === "Enter") actions.step(event.shiftKey);
          }}
        />
        {find !== "" && (
          <>
            <span className={styles.count} role="status">
              {told(found, at)}
            </span>
            <Button
              small
              kind="quiet"
              tip="Previous"
              keys="N"
              aria-label="Previous match"
              onPress={() => actions.step(true)}
            >
              ↑
            </Button>
            <Button
              small
              kind="quiet"
              tip="Next"
              keys="n"
              aria-label="Next match"
              onPress={() => actions.step(false)}
            >
              ↓
            </Button>
          </>
        )}
      </div>
      <div className={styles.group}>
        <Button
          small
          isDisabled={failed === 0}
          tip="Go to the next error"
          keys="e"
          onPress={actions.nextError}
        >
          <span aria-hidden="true">✕</span> {count(failed)} {failed === 1 ? "error" : "errors"}
        </Button>
        <Button
          small
          aria-pressed={isCritical}
          tip="Mark the spans on the critical path"
          keys="p"
          onPress={actions.toggleCritical}
        >
          <span aria-hidden="true">◆</span> Critical path
        </Button>
        <Menu
          label="Rows"
          actions={[
            { id: "expand", name: "Expand all", keys: "]", run: actions.expandAll },
            { id: "collapse", name: "Collapse all", keys: "[", run: actions.collapseAll },
          ]}
        />
      </div>
      <div className={styles.group}>
        <Button
          small
          tip="Zoom out"
          keys="-"
          aria-label="Zoom out"
          isDisabled={!isZoomed}
          onPress={actions.zoomOut}
        >
          −
        </Button>
        <Button small tip="Zoom in" keys="+" aria-label="Zoom in" onPress={actions.zoomIn}>
          +
        </Button>
        <Button
          small
          tip="Show the whole time"
          keys="0"
          isDisabled={!isZoomed}
          onPress={actions.zoomFit}
        >
          Fit
        </Button>
      </div>
    </div>
  );
}

function told(found: Found, at: number): string {
  const more = found.more ? " or more" : "";
  const where = at > 0 ? `${count(at)} of ` : "";
  const number = `${where}${count(found.places.length)}${more}`;
  if (found.contents === "searching") return `${number}, searching contents…`;
  if (found.contents === "failed") return `${number} in names; contents could not be searched`;
  return number;
}
