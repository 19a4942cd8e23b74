// The actions on the selected rows of a list, below the rows.
import { useNavigate } from "@tanstack/react-router";
import { Button } from "../../components/Button";
import type { View } from "../../components/query/views";
import type { RowSelection } from "../../components/table/rowSelection";
import { count, unit } from "../../format/numbers";
import { useShortcut } from "../../shortcuts/ShortcutProvider";
import styles from "./SelectionBar.module.css";

interface Props {
  view: View;
  selection: RowSelection;
}

export function SelectionBar({ view, selection }: Props) {
  const navigate = useNavigate();
  const number = selection.ids.length;
  const [a, b] = selection.ids;
  const isPair = number === 2 && !selection.isAll;
  // The newest row comes first in most lists, so the earlier one becomes A.
  const compare = () => {
    if (a && b) void navigate({ to: "/compare", search: { a: b, b: a } });
  };
  useShortcut(
    { keys: "c", does: "Compare the two selected rows", where: `The list of ${view}` },
    compare,
    isPair,
  );
  if (number === 0) return null;
  return (
    <section className={styles.bar} aria-label={`Selected ${view}`}>
      <span role="status" className={styles.number}>
        {count(number)} {unit(number, view.replace(/s$/, ""), view)} selected
      </span>
      <Button
        small
        isDisabled={!isPair}
        onPress={compare}
        keys="c"
        aria-label={isPair ? "Compare" : "Compare (select exactly two rows)"}
      >
        Compare
      </Button>
      {number === 1 && !selection.isAll && (
        <span className={styles.hint}>Select another row to compare the two.</span>
      )}
      <Button small kind="quiet" keys="Escape" onPress={selection.clear}>
        Select none
      </Button>
    </section>
  );
}
