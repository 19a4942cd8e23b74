// The options of the lists of runs and spans in addition to the query: groups, and live updates.
import { useSearch } from "@tanstack/react-router";
import { useLastParsed, useQueryText } from "../../components/query/queryText";
import { useQueryFields } from "../../components/query/suggestions";
import { Select } from "../../components/Select";
import { LiveToggle } from "../../components/table/LiveToggle";
import {
  GROUPINGS,
  groupingOf,
  isMetadata,
  type ListSearch,
} from "../../components/table/listSearch";
import { useSearchChange } from "../../components/table/useTableSearch";
import { BUCKETS, bucketName, bucketOf, bucketOfPeriod } from "./grouping";

const NONE = "none";

interface Props {
  isLive: boolean;
  onLive: (isLive: boolean) => void;
}

export function ListTools({ isLive, onLive }: Props) {
  const { group, parts, bucket }: ListSearch = useSearch({ strict: false });
  const change = useSearchChange();
  const terms = useLastParsed(useQueryText().text)?.terms ?? [];
  const keys = useQueryFields().map((field) => field.name);
  const groupings = [
    ...new Set<string>([...GROUPINGS, ...keys.filter(isMetadata), group ?? "time"]),
  ];
  const choices = [
    { id: NONE, name: "No groups" },
    ...groupings.map((grouping) => ({ id: grouping, name: `By ${grouping}` })),
  ];
  const seconds = String(bucketOf(bucket));
  const isKnown = BUCKETS.some((each) => each.id === seconds);
  return (
    <>
      <Select<string>
        label="Groups"
        hideLabel
        value={group ?? NONE}
        options={choices}
        onChange={(chosen) =>
          change({
            group: isMetadata(chosen) ? chosen : GROUPINGS.find((each) => each === chosen),
            parts: undefined,
            bucket: undefined,
            groupSort: undefined,
            groupAscending: undefined,
            peek: undefined,
          })
        }
      />
      {group && (
        <Select<string>
          label="Divided by"
          hideLabel
          value={parts ?? NONE}
          options={[
            { id: NONE, name: "Not divided" },
            ...groupings
              .filter((grouping) => grouping !== group)
              .map((grouping) => ({ id: grouping, name: `Then by ${grouping}` })),
          ]}
          onChange={(chosen) => {
            const parts = groupingOf(chosen);
            const length = parts === "time" ? bucketOfPeriod(terms, Date.now()) : undefined;
            change({ parts, bucket: group === "time" ? bucket : length, peek: undefined });
          }}
        />
      )}
      {(group === "time" || parts === "time") && (
        <Select<string>
          label="Length of a group"
          hideLabel
          value={seconds}
          options={
            isKnown ? BUCKETS : [...BUCKETS, { id: seconds, name: bucketName(Number(seconds)) }]
          }
          onChange={(chosen) => change({ bucket: chosen })}
        />
      )}
      <LiveToggle isLive={isLive} onLive={onLive} />
    </>
  );
}
