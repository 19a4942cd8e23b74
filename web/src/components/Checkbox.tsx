// A checkbox with its label.
import type { ReactNode } from "react";
import { Checkbox as AriaCheckbox } from "react-aria-components";
import styles from "./Fields.module.css";

interface Props {
  isSelected: boolean;
  onChange: (selected: boolean) => void;
  children: ReactNode;
  isDisabled?: boolean;
}

export function Checkbox({ isSelected, onChange, children, isDisabled = false }: Props) {
  return (
    <AriaCheckbox
      className={styles.checkbox ?? ""}
      isSelected={isSelected}
      onChange={onChange}
      isDisabled={isDisabled}
    >
      <span className={styles.box} aria-hidden="true">
        {isSelected ? "✓" : ""}
      </span>
      <span>{children}</span>
    </AriaCheckbox>
  );
}
