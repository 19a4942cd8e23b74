// The filters of a list, with counts. Each choice edits the query's text.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { client, ok } from "../../api/client";
import type { FieldValues } from "../../api/schema";
import { count } from "../../format/numbers";
import { WRITTEN } from "../../live/events";
import { pause } from "../../live/pause";
import { useLiveRefresh } from "../../live/useLiveRefresh";
import { visible } from "../../text/visible";
import { Button } from "../Button";
import { ErrorNotice, Loading } from "../States";
import { chosenValues, leftOut, toggled, toggledOut } from "./editing";
import styles from "./FacetPanel.module.css";
import { facetName } from "./facetNames";
import { useLastParsed, useQueryEdit, useQueryText } from "./queryText";
import type { View } from "./views";

const FEW = 8;
const MANY = 100;
const APART_MS = 5_000; // counting is expensive
const AFTER_MS = 1_000; // the rows come first

interface Props {
  view: View;
  query: string;
  isLive: boolean;
}

export function FacetPanel({ view, query, isLive }: Props) {
  const choices = useChoices();
  const [limit, setLimit] = useState(FEW);
  const queries = useQueryClient();
  const key = ["facets", view, query, limit];
  const facets = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => {
      const asked = { rows: view, limit, ...(query ? { query } : {}) };
      return ok(client.GET("/api/v1/facets", { params: { query: asked }, signal }));
    },
    placeholderData: (last) => last,
  });
  useLiveRefresh(
    WRITTEN,
    async () => {
      await pause(AFTER_MS);
      await queries.invalidateQueries({ queryKey: key });
    },
    isLive,
    undefined,
    APART_MS,
  );
  if (facets.isPending) return <Loading what="counts" lines={9} />;
  if (!facets.data) return <ErrorNotice what="The counts could not be read" error={facets.error} />;
  const { data, complete } = facets.data;
  const isOfThreads = view === "threads" && (query || data.some((each) => each.values.length > 0));
  return (
    <div className={styles.panel}>
      {[...(isOfThreads ? [STATUSES] : []), ...data].map((facet) => (
        <Facet
          key={facet.field}
          facet={facet}
          {...choices}
          onMore={limit === FEW ? () => setLimit(MANY) : null}
        />
      ))}
      {!complete && (
        <p className={styles.about}>Too many rows match. Only the newest ones are counted.</p>
      )}
    </div>
  );
}

/** A thread has no status: its steps have one. Counting those of all threads would take long. */
const STATUSES: FieldValues = {
  field: "status",
  values: ["error", "cancelled", "denied", "unfinished"].map((value) => ({
    value,
    written: value,
    count: null,
  })),
  more: false,
};

/** The selection changes at once on a click, before the text is parsed. */
function useChoices() {
  const { text } = useQueryText();
  const parsed = useLastParsed(text);
  const edit = useQueryEdit();
  const [clicked, click] = useState<{ text: string; choices: readonly string[] } | null>(null);
  const isClicked = (choice: string) =>
    clicked?.text === parsed?.text &&
    (clicked?.choices.filter((each) => each === choice).length ?? 0) % 2 === 1;
  const chosenOf = (field: string) => chosenValues(parsed?.terms ?? [], field);
  const outOf = (field: string) => leftOut(parsed?.terms ?? [], field);
  return {
    chosenOf,
    outOf,
    isChosen: (field: string, value: string) =>
      chosenOf(field).has(value) !== isClicked(`${field}:${value}`),
    toggle: (field: string, value: string) => {
      const before = clicked && clicked.text === parsed?.text ? clicked.choices : [];
      click({ text: parsed?.text ?? text, choices: [...before, `${field}:${value}`] });
      void edit((now, terms) => toggled(now, terms, field, value)).catch(() => click(null));
    },
    toggleOut: (field: string, value: string) => {
      click(null);
      void edit((now, terms) => toggledOut(now, terms, field, value)).catch(() => {});
    },
  };
}

interface FacetProps extends ReturnType<typeof useChoices> {
  facet: FieldValues;
  onMore: (() => void) | null;
}

function Facet({ facet, chosenOf, outOf, isChosen, toggle, toggleOut, onMore }: FacetProps) {
  const { field } = facet;
  const known = new Set(facet.values.map((each) => each.value));
  const out = outOf(field);
  // A selected or excluded value stays visible, even if nothing has it.
  const missing = [...new Set([...chosenOf(field), ...out])].filter((value) => !known.has(value));
  const values = [
    ...facet.values,
    ...missing.map((value) => ({ value, count: 0 as number | null })),
  ];
  if (values.length === 0) return null;
  return (
    <fieldset className={styles.facet}>
      <legend>{facetName(field)}</legend>
      {values.map((each) => (
        <div key={each.value} className={styles.choice} data-out={out.has(each.value)}>
          <label>
            <input
              type="checkbox"
              checked={isChosen(field, each.value)}
              onChange={() => toggle(field, each.value)}
            />
            <span className={styles.value} title={each.value}>
              {visible(each.value) || "(empty)"}
            </span>
          </label>
          {each.count !== null && <span className={styles.count}>{count(each.count)}</span>}
          <button
            type="button"
            className={styles.out}
            aria-pressed={out.has(each.value)}
            aria-label={`Exclude ${each.value || "(empty)"}`}
            title={out.has(each.value) ? "Excluded" : "Exclude"}
            onClick={() => toggleOut(field, each.value)}
          >
            −
          </button>
        </div>
      ))}
      {facet.more && onMore && (
        <Button kind="quiet" small onPress={onMore}>
          More
        </Button>
      )}
    </fieldset>
  );
}
