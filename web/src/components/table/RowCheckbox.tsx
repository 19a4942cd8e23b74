// The checkbox of a row, or of all loaded rows in the header.
import { useEffect, useRef } from "react";
import styles from "./RowCheckbox.module.css";

interface Props {
  isSelected: boolean;
  /** Some of several rows are selected. */
  isPartial?: boolean;
  onChange: (isExtended: boolean) => void;
  /** The name, or the id of the element that has the name of the row. */
  label: string;
  of?: string;
  id?: string;
}

export function RowCheckbox({ isSelected, isPartial = false, onChange, label, of, id }: Props) {
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (box.current) box.current.indeterminate = isPartial;
  }, [isPartial]);
  return (
    <label className={styles.area}>
      <input
        ref={box}
        id={id}
        type="checkbox"
        className={styles.box}
        checked={isSelected}
        tabIndex={of === undefined ? 0 : -1}
        aria-label={label}
        aria-labelledby={of === undefined ? undefined : `${id} ${of}`}
        onChange={(event) => onChange((event.nativeEvent as MouseEvent).shiftKey)}
      />
    </label>
  );
}
