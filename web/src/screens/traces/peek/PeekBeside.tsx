// A list with the detail of one row: next to it, or below it on a narrow page.
import { type ReactNode, Suspense, useRef } from "react";
import { Button } from "../../../components/Button";
import { Loading } from "../../../components/States";
import { useShortcut } from "../../../shortcuts/ShortcutProvider";
import styles from "./Peek.module.css";

interface Props {
  /** The kind of the rows: "run". */
  what: string;
  /** The id of the row; undefined for none. */
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
    { keys: "Escape", does: `Close the ${what} next to the list`, where: `The list of ${what}s` },
    close,
    peeked !== undefined,
  );
  return (
    <div className={styles.beside} ref={whole} data-list-area={peeked ? "peek" : ""}>
      <div className={styles.list}>{children}</div>
      {peeked !== undefined && (
        <aside className={styles.panel} aria-label={`The ${what} next to the list`}>
          <div className={styles.close}>
            <Button kind="quiet" small aria-label="Close" keys="Escape" onPress={close}>
              ✕
            </Button>
          </div>
          {/* Each row has its own panel, scrolled to the top. */}
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard */}
          <section key={peeked} className={styles.scroll} tabIndex={0} aria-label={what}>
            <Suspense fallback={<Loading what={`the ${what}`} />}>{panel(peeked)}</Suspense>
          </section>
        </aside>
      )}
    </div>
  );
}
