// A trace: its tree and timeline, next to the selected span.
import { useRef } from "react";
import { EmptyState, ErrorNotice, Loading } from "../../components/States";
import { useIsNarrow } from "../../components/table/useIsNarrow";
import type { TraceSearch } from "../searches";
import { SpanDetail } from "./detail/SpanDetail";
import { nameAt, type Tree as TreeModel } from "./model/tree";
import { WHOLE } from "./model/zoom";
import { Sheet } from "./Sheet";
import { Split } from "./Split";
import { Toolbar } from "./Toolbar";
import styles from "./TraceView.module.css";
import { Tree } from "./tree/Tree";
import { useActions } from "./useActions";
import { type TraceChange, useOpenTrace } from "./useOpenTrace";
import type { TraceRead } from "./useSkeleton";

export type { TraceChange };

interface Props extends TraceRead {
  search: TraceSearch;
  onSearch: (change: TraceChange) => void;
}

/** The skeleton from `useSkeleton`. */
export function TraceView(props: Props) {
  const { tree, error, retry } = props;
  if (error && !tree) {
    return <ErrorNotice what="The trace could not be read" error={error} onRetry={retry} />;
  }
  if (!tree) return <Loading what="the trace" lines={12} />;
  if (tree.count === 0) return <EmptyState title="This trace has no spans." />;
  return <Open {...props} tree={tree} />;
}

function Open({ tree, search, onSearch }: Props & { tree: TreeModel }) {
  const view = useRef<HTMLDivElement>(null);
  const detail = useRef<HTMLElement>(null);
  const isNarrow = useIsNarrow(view);
  const trace = useOpenTrace(tree, search, onSearch);
  const isCritical = trace.critical !== null;
  const actions = useActions({
    ...trace,
    tree,
    isCritical,
    onCritical: (shown) => onSearch({ critical: shown ? "true" : undefined }),
  });
  const about = (
    <SpanDetail
      tree={tree}
      place={Math.max(trace.rested, 0)}
      tab={search.tab ?? "formatted"}
      onTab={(tab) => onSearch({ tab: tab === "formatted" ? undefined : tab })}
      onReveal={trace.onReveal}
    />
  );
  const spans = <Tree {...trace} tree={tree} onOpen={() => detail.current?.focus()} />;
  return (
    <div className={styles.view} ref={view}>
      <Toolbar
        find={search.find ?? ""}
        onFind={(find) => onSearch({ find: find || undefined })}
        found={trace.found}
        at={trace.found.places.indexOf(trace.active) + 1}
        failed={trace.sums.failed.length}
        isCritical={isCritical}
        isZoomed={trace.zoom !== WHOLE}
        actions={actions}
      />
      {isNarrow ? (
        <>
          {spans}
          <Sheet
            title={nameAt(tree, trace.rested)}
            isOpen={trace.rested >= 0}
            onClose={trace.onClose}
          >
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
