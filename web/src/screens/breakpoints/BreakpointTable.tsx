// The breakpoints: which calls each holds, for how long, and whether it is active.
import type { Breakpoint, BreakpointList } from "../../api/schema";
import { Button } from "../../components/Button";
import { Checkbox } from "../../components/Checkbox";
import { type PlainColumn, PlainTable } from "../../components/PlainTable";
import { EmptyState, ErrorNotice } from "../../components/States";
import { duration } from "../../format/numbers";
import { visible } from "../../text/visible";
import { useChange, useRemove } from "./queries";

interface Props {
  list: BreakpointList;
  onAdd: () => void;
}

export function BreakpointTable({ list, onAdd }: Props) {
  const change = useChange();
  const remove = useRemove();
  const broken = list.broken && (
    <ErrorNotice what="The breakpoints are lost when the server restarts" error={list.broken} />
  );
  if (list.data.length === 0) {
    return (
      <>
        {broken}
        <EmptyState
          title="No breakpoints"
          action={<Button onPress={onAdd}>New breakpoint…</Button>}
        />
      </>
    );
  }
  return (
    <>
      {broken}
      <PlainTable
        label="Breakpoints"
        columns={columns(
          (each, enabled) => change.mutate({ id: each.id, enabled }),
          (each) => remove.mutate(each),
        )}
        rows={list.data}
        idOf={(each) => each.id}
      />
      {(change.error ?? remove.error) && (
        <ErrorNotice
          what="The breakpoint could not be changed"
          error={change.error ?? remove.error}
        />
      )}
    </>
  );
}

function columns(
  onEnable: (each: Breakpoint, enabled: boolean) => void,
  onRemove: (each: Breakpoint) => void,
): readonly PlainColumn<Breakpoint>[] {
  return [
    {
      id: "what",
      name: "Calls",
      isTitle: true,
      grows: true,
      cell: (each) => visible(wordsOf(each)),
    },
    {
      id: "time",
      name: "Timeout",
      cell: (each) => (each.timeout == null ? "default" : duration(each.timeout * 1e6)),
    },
    { id: "then", name: "On timeout", cell: (each) => ON_EXPIRY[each.on_expiry ?? "as set"] },
    {
      id: "on",
      name: "Enabled",
      cell: (each) => (
        <Checkbox isSelected={each.enabled ?? true} onChange={(enabled) => onEnable(each, enabled)}>
          enabled
        </Checkbox>
      ),
    },
    {
      id: "remove",
      name: "Remove",
      hideName: true,
      align: "end",
      cell: (each) => (
        <Button
          kind="quiet"
          small
          aria-label={`Remove the breakpoint for ${wordsOf(each)}`}
          onPress={() => onRemove(each)}
        >
          Remove
        </Button>
      ),
    },
  ];
}

const ON_EXPIRY = {
  continue: "continue",
  refuse: "refuse",
  "as set": "default",
} as const;

/** The held calls in words: "calls of gpt-* with the label nightly". */
export function wordsOf({ model, thread_id, labels = [] }: Breakpoint): string {
  const parts = [
    model ? `calls of ${model}` : "calls of any model",
    thread_id ? `in the thread ${thread_id}` : "",
    labels.length > 0
      ? `with ${labels.length > 1 ? "one of the labels" : "the label"} ${labels.join(", ")}`
      : "",
  ];
  return parts.filter(Boolean).join(" ");
}
