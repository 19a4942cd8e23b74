// The shortcuts of the page: components register actions, one listener runs them, `?` lists all.
import {
  createContext,
  type ReactNode,
  type RefObject,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useSyncExternalStore,
} from "react";
import { isTyping, keyOf } from "./keys";

export interface Shortcut {
  /**
   * As `event.key`, optionally after "Mod+" (Ctrl or ⌘), "Alt+", "Shift+"; or two in a row: "g t".
   */
  keys: string;
  /** The description in the list of shortcuts. */
  does: string;
  /** The group in the list of shortcuts. */
  where: string;
  /** Also while a field has the focus; only for shortcuts with Mod, and Escape. */
  inFields?: boolean;
  /** Only while the focus is in this element. */
  within?: RefObject<HTMLElement | null>;
  /** Only if it returns true for the element with the focus; a constant. */
  when?: (target: Element) => boolean;
}

interface Registered extends Shortcut {
  run: () => void;
}

class Shortcuts {
  list: readonly Registered[] = [];
  private readonly watchers = new Set<() => void>();
  private first = "";
  private firstAt = 0;

  add(shortcut: Registered): () => void {
    this.become([...this.list, shortcut]);
    return () => this.become(this.list.filter((each) => each !== shortcut));
  }

  watch = (watcher: () => void): (() => void) => {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  };

  press(event: KeyboardEvent): void {
    if (event.defaultPrevented || event.isComposing) return;
    const key = keyOf(event);
    const typing = isTyping(event.target);
    const pair = performance.now() - this.firstAt < 1_000 ? `${this.first} ${key}` : "";
    // The last registered one is nearest to what is shown.
    const found = this.list
      .toReversed()
      .find(
        (each) =>
          (each.keys === pair || each.keys === key) &&
          (!typing || each.inFields) &&
          (!each.within || each.within.current?.contains(event.target as Node)) &&
          (!each.when || each.when(event.target as Element)),
      );
    this.first = key;
    this.firstAt = performance.now();
    if (!found) return;
    event.preventDefault();
    this.first = "";
    found.run();
  }

  private become(list: readonly Registered[]): void {
    this.list = list;
    for (const watcher of this.watchers) watcher();
  }
}

const ShortcutContext = createContext<Shortcuts | null>(null);

export function ShortcutProvider({ children }: { children: ReactNode }) {
  const shortcuts = useMemo(() => new Shortcuts(), []);
  useEffect(() => {
    const press = (event: KeyboardEvent) => shortcuts.press(event);
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [shortcuts]);
  return <ShortcutContext value={shortcuts}>{children}</ShortcutContext>;
}

function useShortcutStore(): Shortcuts {
  const shortcuts = useContext(ShortcutContext);
  if (!shortcuts) throw new Error("ShortcutProvider is missing");
  return shortcuts;
}

/** Runs an action by its shortcut while the component is shown and `enabled`. */
export function useShortcut(shortcut: Shortcut, run: () => void, enabled = true): void {
  const store = useShortcutStore();
  const newest = useRef(run);
  useEffect(() => {
    newest.current = run;
  });
  const { keys, does, where, inFields = false, within, when } = shortcut;
  useEffect(() => {
    if (!enabled) return;
    const run = () => newest.current();
    const limits = { ...(within ? { within } : {}), ...(when ? { when } : {}) };
    return store.add({ keys, does, where, inFields, ...limits, run });
  }, [store, keys, does, where, inFields, within, when, enabled]);
}

/** All active shortcuts. */
export function useShortcuts(): readonly Shortcut[] {
  const store = useShortcutStore();
  return useSyncExternalStore(store.watch, () => store.list);
}
