// The collapsed spans of a trace. The server keeps them for all pages and the analyst. The page
// sends changes together, a moment after the last one.
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useNotices } from "../../components/Notices";
import { useUiChange, useUiHandler, useUiState } from "../../mirror/MirrorProvider";
import { collapsedPlaces } from "./model/rows";
import type { Tree } from "./model/tree";

const PAUSE_MS = 300;
const MOST = 50_000; // the server keeps no more

export interface Collapsed {
  /** Whether the server's state is known. */
  isKnown: boolean;
  /** 1 for each collapsed index. */
  at: Uint8Array;
  set: (places: readonly number[], collapsed: boolean) => void;
}

export function useCollapsed(tree: Tree): Collapsed {
  const kept = useUiState()?.collapsed_span_ids;
  const { changed, note, save } = useUnsaved();
  const ids = useMemo(() => withChanges(kept ?? [], changed), [kept, changed]);
  const at = useMemo(() => collapsedPlaces(tree, ids), [tree, ids]);
  const set = useCallback(
    (places: readonly number[], collapsed: boolean) =>
      note(
        places.map((place) => tree.ids[place] ?? ""),
        collapsed,
      ),
    [tree, note],
  );
  useUiHandler("get_collapsed_spans", async () => {
    await save();
    return { collapsedSpanIds: [...ids].slice(-MOST) };
  });
  const isKnown = kept !== undefined;
  return useMemo(() => ({ isKnown, at, set }), [isKnown, at, set]);
}

function withChanges(kept: readonly string[], changed: ReadonlyMap<string, boolean>): Set<string> {
  const ids = new Set(kept);
  for (const [id, collapsed] of changed) {
    if (collapsed) ids.add(id);
    else ids.delete(id);
  }
  return ids;
}

/** Local changes that the server does not have yet. */
function useUnsaved() {
  const [changed, setChanged] = useState<ReadonlyMap<string, boolean>>(new Map());
  const waiting = useRef(new Map<string, boolean>());
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const change = useUiChange();
  const { tell } = useNotices();
  const save = useCallback(async () => {
    clearTimeout(timer.current);
    const sent = waiting.current;
    if (sent.size === 0) return;
    waiting.current = new Map();
    try {
      await change({ collapse: chosen(sent, true), expand: chosen(sent, false) });
    } catch {
      tell({ kind: "bad", text: "The collapsed spans could not be saved for other pages." });
    }
    setChanged((now) => without(now, sent, waiting.current));
  }, [change, tell]);
  const note = useCallback(
    (ids: readonly string[], collapsed: boolean) => {
      for (const id of ids) waiting.current.set(id, collapsed);
      setChanged((now) => new Map([...now, ...ids.map((id) => [id, collapsed] as const)]));
      clearTimeout(timer.current);
      timer.current = setTimeout(() => void save(), PAUSE_MS);
    },
    [save],
  );
  useEffect(() => () => void save(), [save]);
  return { changed, note, save };
}

function chosen(changes: ReadonlyMap<string, boolean>, collapsed: boolean): string[] {
  const ids = [...changes].filter(([, wanted]) => wanted === collapsed).map(([id]) => id);
  return ids.slice(0, MOST);
}

/** The changes without those that were sent and not changed again. */
function without(
  changed: ReadonlyMap<string, boolean>,
  sent: ReadonlyMap<string, boolean>,
  waiting: ReadonlyMap<string, boolean>,
): ReadonlyMap<string, boolean> {
  return new Map([...changed].filter(([id]) => !sent.has(id) || waiting.has(id)));
}
