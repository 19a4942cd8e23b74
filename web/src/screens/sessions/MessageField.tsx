// The field for a message: Enter sends it, Shift+Enter starts a new line.
import type { KeyboardEvent, ReactNode, Ref } from "react";
import { Button } from "../../components/Button";
import { useKeptText } from "../../components/useKeptText";
import styles from "./Sessions.module.css";

interface Props {
  /** The draft is kept under this name until it is sent. */
  of: string;
  label: string;
  placeholder: string;
  /** The label of the button that Enter presses. */
  act: string;
  isBusy: boolean;
  onSend: (text: string) => void;
  /** A second way to send the message. */
  other?: { act: string; tip: string; onSend: (text: string) => void };
  below?: ReactNode;
  ref?: Ref<HTMLTextAreaElement>;
}

export function MessageField(props: Props) {
  const { of, label, placeholder, act, isBusy, onSend, other, below, ref } = props;
  const [kept, setText] = useKeptText(`message ${of}`);
  const text = kept ?? "";
  const words = text.trim();
  const send = (how: (text: string) => void) => {
    if (!words || isBusy) return;
    how(words);
    setText("");
  };
  const press = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send(onSend);
  };
  return (
    <form
      className={styles.composer}
      onSubmit={(event) => {
        event.preventDefault();
        send(onSend);
      }}
    >
      <div className={styles.writing}>
        <textarea
          {...(ref ? { ref } : {})}
          className={styles.field}
          aria-label={label}
          placeholder={placeholder}
          rows={2}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={press}
        />
        <Button kind="primary" type="submit" isDisabled={!words || isBusy}>
          {act}
        </Button>
        {other && (
          <Button isDisabled={!words || isBusy} tip={other.tip} onPress={() => send(other.onSend)}>
            {other.act}
          </Button>
        )}
      </div>
      <div className={styles.below}>
        {below}
        <span>Enter to send, Shift+Enter for a new line</span>
      </div>
    </form>
  );
}
