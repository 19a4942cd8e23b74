// A list and the row of it that is looked at: beside it where there is room, else over its edge, so
// that no row moves when it is opened.
import { type ReactNode, Suspense, useRef } from "react";
import { Button } from "../../../components/Button";
import { Loading } from "../../../components/States";
import { useShortcut } from "../../../shortcuts/ShortcutProvider";
import styles from "./Peek.module.css";

interface Props {
  /** What a row is: "run". */
  what: string;
  /** Its id; undefined: none is looked at. */
  peeked: string | undefined;
  onClose: () => void;
  panel: (id: string) => ReactNode;
  /** The list. */
  children: ReactNode;
}

export function PeekBeside({ what, peeked, onClose, panel, children }: Props) {
  const whole = useRef<HTMLDivElement>(null);
  const close = () => {
    whole.current?.querySelector<HTMLElement>("[role=grid]")?.focus({ preventScroll: true });
    onClose();
  };
  useShortcut(
    { keys: "Escape", does: `Close the ${what} beside the list`, where: `The list of ${what}s` },
    close,
    peeked !== undefined,
  );
  return (
    <div className={styles.beside} ref={whole}>
      <div className={styles.list}>{children}</div>
      {peeked !== undefined && (
        <aside className={styles.panel} aria-label={`The ${what} beside the list`}>
          <div className={styles.close}>
            <Button kind="quiet" small aria-label="Close" keys="Escape" onPress={close}>
              ✕
            </Button>
          </div>
          {/* One of its own: it begins at its top. */}
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard */}
          <section key={peeked} className={styles.scroll} tabIndex={0} aria-label={what}>
            <Suspense fallback={<Loading what={`the ${what}`} />}>{panel(peeked)}</Suspense>
          </section>
        </aside>
      )}
    </div>
  );
}
