// The frame of a searchable list: query, time, facets, saved views.
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useShortcut } from "../../shortcuts/ShortcutProvider";
import { Button } from "../Button";
import { EmptyState, ErrorNotice, Loading } from "../States";
import { ExportMenu } from "./ExportMenu";
import { FacetPanel } from "./FacetPanel";
import styles from "./ListSearch.module.css";
import { QueryBar } from "./QueryBar";
import { parsing, useQueryText, useReadableQuery } from "./queryText";
import { SavedViews } from "./SavedViews";
import { TimeChoice } from "./TimeChoice";
import { useSaidLabels } from "./useSaidLabels";
import type { View } from "./views";

interface Props {
  view: View;
  /** Whether counts are updated live. */
  isLive: boolean;
  /** More options of the list, in addition to the query. */
  tools?: ReactNode;
  /** The list for a query: the one in the address, or the last valid one. */
  children: (query: string) => ReactNode;
}

const KEPT = "treadle.facets";
const WIDE = "(min-width: 72rem)";

function areFacetsWanted(): boolean {
  return matchMedia(WIDE).matches && localStorage.getItem(KEPT) !== "hidden";
}

export function ListSearch({ view, isLive, tools, children }: Props) {
  const { text, setText } = useQueryText();
  const query = useReadableQuery();
  const [areFacetsShown, show] = useState(areFacetsWanted);
  const toggle = () => {
    if (matchMedia(WIDE).matches) localStorage.setItem(KEPT, areFacetsShown ? "hidden" : "shown");
    show(!areFacetsShown);
  };
  useShortcut({ keys: "f", does: "Show or hide the filters", where: "Lists" }, toggle);
  useSaidLabels(view, text);
  return (
    <div className={styles.search}>
      <search className={styles.top} aria-label={`Search ${view}`}>
        <QueryBar what={view} text={text} onText={setText} />
        <div className={styles.tools}>
          <TimeChoice />
          <Button aria-expanded={areFacetsShown} onPress={toggle} keys="f">
            Filters
          </Button>
          <SavedViews view={view} />
          {query !== null && <ExportMenu view={view} query={query} />}
          {tools}
        </div>
      </search>
      <div className={styles.below}>
        {areFacetsShown && query !== null && (
          <aside className={styles.facets} aria-label="Filters">
            <FacetPanel view={view} query={query} isLive={isLive} />
          </aside>
        )}
        <div className={styles.list}>
          {query === null ? <Unread text={text} /> : children(query)}
        </div>
      </div>
    </div>
  );
}

function Unread({ text }: { text: string }) {
  const parsed = useQuery(parsing(text));
  if (parsed.error) {
    const retry = () => void parsed.refetch();
    return (
      <ErrorNotice what="The query could not be parsed" error={parsed.error} onRetry={retry} />
    );
  }
  if (parsed.isPending) return <Loading what="the list" lines={12} />;
  return <EmptyState title="This query is not valid.">The error is shown above.</EmptyState>;
}
