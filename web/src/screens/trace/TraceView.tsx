// A trace: its tree and timeline, and what the chosen span holds beside it.
import { useCallback, useEffect, useMemo, useRef } from "react";
import { EmptyState, ErrorNotice, Loading } from "../../components/States";
import { useIsNarrow } from "../../components/table/useIsNarrow";
import type { TraceSearch } from "../searches";
import { SpanDetail } from "./detail/SpanDetail";
import { criticalPath } from "./model/criticalPath";
import { slowestPlaces, sumsOf } from "./model/notable";
import { hiding, type Rows, rowsOf } from "./model/rows";
import { nameAt, placeOf, type Tree as TreeModel } from "./model/tree";
import { readZoom, WHOLE, writeZoom, type Zoom } from "./model/zoom";
import { Sheet } from "./Sheet";
import { Split } from "./Split";
import { Toolbar } from "./Toolbar";
import styles from "./TraceView.module.css";
import { Tree, type TreeHandle } from "./tree/Tree";
import { useActions } from "./useActions";
import { useCollapsed } from "./useCollapsed";
import { useFind } from "./useFind";
import { useSelection } from "./useSelection";
import type { TraceRead } from "./useSkeleton";

/** What is to be different in the address; undefined takes it out. */
export type TraceChange = { [name in keyof TraceSearch]?: TraceSearch[name] | undefined };

interface Props extends TraceRead {
  search: TraceSearch;
  onSearch: (change: TraceChange) => void;
}

/** What `useSkeleton` read, shown. */
export function TraceView(props: Props) {
  const { tree, error, retry } = props;
  if (error && !tree) {
    return <ErrorNotice what="The trace could not be read" error={error} onRetry={retry} />;
  }
  if (!tree) return <Loading what="the trace" lines={12} />;
  if (tree.count === 0) return <EmptyState title="This trace has no spans any more." />;
  return <OpenTrace {...props} tree={tree} />;
}

function OpenTrace({ tree, search, onSearch }: Props & { tree: TreeModel }) {
  const view = useRef<HTMLDivElement>(null);
  const handle = useRef<TreeHandle>(null);
  const detail = useRef<HTMLDivElement>(null);
  const isNarrow = useIsNarrow(view);
  const selection = useSelection(search.span, (span) => onSearch({ span }));
  const collapsed = useCollapsed(tree);
  const rows = useMemo(() => rowsOf(tree, collapsed.at), [tree, collapsed.at]);
  const found = useFind(tree, search.find ?? "");
  const zoom = useMemo(() => readZoom(search.zoom), [search.zoom]);
  const sums = useMemo(() => sumsOf(tree), [tree]);
  const slowest = useMemo(() => slowestPlaces(tree), [tree]);
  const isCritical = search.critical === "true";
  const critical = useMemo(() => (isCritical ? criticalPath(tree) : null), [tree, isCritical]);
  const active = placeOf(tree, selection.id);
  const { choose } = selection;
  const onChoose = useCallback((place: number) => choose(tree.ids[place]), [choose, tree]);
  const onZoom = (next: Zoom) => onSearch({ zoom: writeZoom(next) });
  const onReveal = useCallback(
    (place: number) => {
      const above = hiding(tree, collapsed.at, place);
      if (above.length > 0) collapsed.set(above, false);
      onChoose(place);
    },
    [tree, collapsed, onChoose],
  );
  const onCollapse = useCallback(
    (places: readonly number[], isCollapsed: boolean) => {
      collapsed.set(places, isCollapsed);
      // What would be hidden cannot stay chosen: the highest that hides it is.
      const hides = isCollapsed ? hider(tree, places, active) : -1;
      if (hides >= 0) onChoose(hides);
    },
    [tree, collapsed, active, onChoose],
  );
  const actions = useActions({
    tree,
    active,
    found: found.places,
    failed: sums.failed,
    zoom,
    isCritical,
    onZoom,
    onCritical: (shown) => onSearch({ critical: shown ? "true" : undefined }),
    onReveal,
    onCollapse,
    onStep: (by) => {
      const place = rows.places[(rows.rowOf[active] ?? -1) + by];
      if (place !== undefined) onChoose(place);
    },
  });
  useRevealed(search.span, active, rows, onReveal);
  const shown = placeOf(tree, selection.restedId);
  const about = (
    <SpanDetail
      tree={tree}
      place={Math.max(shown, 0)}
      tab={search.tab ?? "formatted"}
      onTab={(tab) => onSearch({ tab: tab === "formatted" ? undefined : tab })}
      onReveal={onReveal}
    />
  );
  const spans = (
    <Tree
      ref={handle}
      tree={tree}
      rows={rows}
      collapsed={collapsed.at}
      active={active}
      isFound={found.isFound}
      critical={critical}
      slowest={slowest}
      zoom={zoom}
      onZoom={onZoom}
      onChoose={onChoose}
      onCollapse={onCollapse}
      onOpen={() => detail.current?.focus()}
    />
  );
  return (
    <div className={styles.view} ref={view}>
      <Toolbar
        find={search.find ?? ""}
        onFind={(find) => onSearch({ find: find || undefined })}
        found={found}
        at={found.places.indexOf(active) + 1}
        failed={sums.failed.length}
        isCritical={isCritical}
        isZoomed={zoom !== WHOLE}
        actions={actions}
      />
      {isNarrow ? (
        <>
          {spans}
          <Sheet title={nameAt(tree, shown)} isOpen={shown >= 0} onClose={() => choose(undefined)}>
            {about}
          </Sheet>
        </>
      ) : (
        <Split
          name="trace"
          label="Width of the tree"
          first={spans}
          second={
            <section className={styles.detail} aria-label="Span" tabIndex={-1} ref={detail}>
              {about}
            </section>
          }
        />
      )}
    </div>
  );
}

/** What the address names is shown, whatever hides it when it comes; later it may be hidden again. */
function useRevealed(
  span: string | undefined,
  active: number,
  rows: Rows,
  onReveal: (place: number) => void,
): void {
  const revealed = useRef<string>(undefined);
  useEffect(() => {
    if (span === undefined || active < 0 || revealed.current === span) return;
    revealed.current = span;
    if (rows.rowOf[active] === -1) onReveal(active);
  }, [span, active, rows, onReveal]);
}

/** The highest of some places that is above another one; -1 where none is. */
function hider(tree: TreeModel, places: readonly number[], place: number): number {
  const wanted = new Set(places);
  let found = -1;
  for (let at = tree.parents[place] ?? -1; at >= 0; at = tree.parents[at] ?? -1) {
    if (wanted.has(at)) found = at;
  }
  return found;
}
