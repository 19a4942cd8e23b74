// A choice between a few options.
import {
  Button as AriaButton,
  Select as AriaSelect,
  Label,
  ListBox,
  ListBoxItem,
  Popover,
  SelectValue,
} from "react-aria-components";
import styles from "./Select.module.css";

interface Props<T extends string> {
  label: string;
  hideLabel?: boolean;
  value: T;
  options: readonly { id: T; name: string }[];
  onChange: (value: T) => void;
  isDisabled?: boolean;
}

export function Select<T extends string>(props: Props<T>) {
  const { label, hideLabel = false, value, options, onChange, isDisabled = false } = props;
  return (
    <AriaSelect
      className={styles.select ?? ""}
      value={value}
      onChange={(key) => onChange(key as T)}
      isDisabled={isDisabled}
    >
      <Label className={hideLabel ? "visually-hidden" : (styles.label ?? "")}>{label}</Label>
      <AriaButton className={styles.button ?? ""}>
        <SelectValue className={styles.value ?? ""} />
        <span aria-hidden="true">▾</span>
      </AriaButton>
      <Popover className={styles.popover ?? ""} offset={4}>
        <ListBox className={styles.list ?? ""} items={options}>
          {(option) => (
            <ListBoxItem id={option.id} textValue={option.name} className={styles.option ?? ""}>
              {option.name}
            </ListBoxItem>
          )}
        </ListBox>
      </Popover>
    </AriaSelect>
  );
}
