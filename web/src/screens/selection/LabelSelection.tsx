// Adds labels to the selected rows, and removes labels from them.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { client, ok } from "../../api/client";
import type { SelectedRows } from "../../api/schema";
import { Button } from "../../components/Button";
import { Checkbox } from "../../components/Checkbox";
import { Dialog } from "../../components/Dialog";
import { useNotices } from "../../components/Notices";
import { ErrorNotice } from "../../components/States";
import { TextField } from "../../components/TextField";
import { counted } from "../../format/numbers";
import { visible } from "../../text/visible";
import styles from "./SelectionBar.module.css";

interface Props {
  selected: SelectedRows;
  /** The number of selected rows; null if it is unknown. */
  number: number | null;
  /** The labels that the selected rows have. */
  labels: readonly string[];
  onClose: () => void;
}

export function LabelSelection({ selected, number, labels, onClose }: Props) {
  const queries = useQueryClient();
  const { tell } = useNotices();
  const [text, setText] = useState("");
  const [removed, setRemoved] = useState<ReadonlySet<string>>(new Set());
  const added = labelsIn(text);
  const change = useMutation({
    mutationFn: () =>
      ok(
        client.POST("/api/v1/selections/label", {
          body: { ...selected, add: added, remove: [...removed] },
        }),
      ),
    onSuccess: async () => {
      tell({ kind: "good", text: doneText(selected.rows, number, added.length > 0) });
      onClose();
      await queries.invalidateQueries();
    },
  });
  const isEmpty = added.length === 0 && removed.size === 0;
  const apply = () => {
    if (!isEmpty) change.mutate();
  };
  const toggle = (label: string) => (isRemoved: boolean) =>
    setRemoved((now) => new Set(isRemoved ? [...now, label] : [...now].filter((l) => l !== label)));
  return (
    <Dialog
      title={`Label the selected ${selected.rows}`}
      isOpen
      onOpenChange={(isOpen) => !isOpen && onClose()}
      actions={
        <>
          <Button onPress={onClose}>Cancel</Button>
          <Button kind="primary" isDisabled={isEmpty || change.isPending} onPress={apply}>
            Apply
          </Button>
        </>
      }
    >
      <form
        className={styles.labels}
        onSubmit={(event) => {
          event.preventDefault();
          apply();
        }}
      >
        <TextField
          label="Add labels"
          hint="Separate several labels with commas."
          value={text}
          onChange={setText}
          autoFocus
        />
        {labels.length > 0 && (
          <fieldset className={styles.remove}>
            <legend>Remove labels</legend>
            {labels.map((label) => (
              <Checkbox key={label} isSelected={removed.has(label)} onChange={toggle(label)}>
                {visible(label)}
              </Checkbox>
            ))}
          </fieldset>
        )}
      </form>
      {change.error && <ErrorNotice what="The labels did not change" error={change.error} />}
    </Dialog>
  );
}

/** "3 runs labelled." If labels were only removed: "Labels removed from 3 runs." */
export function doneText(
  rows: SelectedRows["rows"],
  number: number | null,
  areAdded: boolean,
): string {
  const those = number === null ? `all matching ${rows}` : counted(number, rows.replace(/s$/, ""));
  if (!areAdded) return `Labels removed from ${those}.`;
  return `${those.charAt(0).toUpperCase()}${those.slice(1)} labelled.`;
}

/** The labels in a text, separated by commas. */
export function labelsIn(text: string): string[] {
  const labels = text.split(",").map((label) => label.trim());
  return [...new Set(labels.filter((label) => label !== ""))];
}
