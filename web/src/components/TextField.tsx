// A text field with its error below.
import {
  TextField as AriaTextField,
  FieldError,
  Input,
  Label,
  Text,
  TextArea,
} from "react-aria-components";
import styles from "./Fields.module.css";

interface Props {
  label: string;
  hideLabel?: boolean;
  value: string;
  onChange: (value: string) => void;
  /** More than one makes it a field of several lines. */
  rows?: number;
  mono?: boolean;
  hint?: string;
  /** The error; it marks the field as invalid. */
  problem?: string | null | undefined;
  placeholder?: string;
  type?: "text" | "password" | "search";
  isDisabled?: boolean;
  isReadOnly?: boolean;
  autoFocus?: boolean;
  onKeyDown?: (event: React.KeyboardEvent) => void;
  onBlur?: () => void;
}

export function TextField(props: Props) {
  const { label, hideLabel = false, rows = 1, mono = false, hint, problem, placeholder } = props;
  const { type = "text", value, onChange, onKeyDown, onBlur } = props;
  const shared = {
    className: [styles.input, mono ? styles.mono : ""].join(" "),
    ...(placeholder ? { placeholder } : {}),
    ...(onKeyDown ? { onKeyDown } : {}),
  };
  return (
    <AriaTextField
      className={styles.field ?? ""}
      value={value}
      onChange={onChange}
      type={type}
      isInvalid={Boolean(problem)}
      isDisabled={props.isDisabled ?? false}
      isReadOnly={props.isReadOnly ?? false}
      autoFocus={props.autoFocus ?? false}
      {...(onBlur ? { onBlur } : {})}
    >
      <Label className={hideLabel ? "visually-hidden" : (styles.label ?? "")}>{label}</Label>
      {rows > 1 ? (
        <TextArea {...shared} rows={rows} spellCheck={!mono} />
      ) : (
        <Input {...shared} spellCheck={false} autoComplete="off" />
      )}
      {hint && (
        <Text slot="description" className={styles.hint ?? ""}>
          {hint}
        </Text>
      )}
      {problem && <FieldError className={styles.problem ?? ""}>{problem}</FieldError>}
    </AriaTextField>
  );
}
