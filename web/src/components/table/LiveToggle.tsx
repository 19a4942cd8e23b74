// Whether a list is updated live.
import { useShortcut } from "../../shortcuts/ShortcutProvider";
import { Checkbox } from "../Checkbox";
import styles from "./LiveToggle.module.css";

interface Props {
  isLive: boolean;
  onLive: (isLive: boolean) => void;
}

export function LiveToggle({ isLive, onLive }: Props) {
  useShortcut({ keys: "l", does: "Turn live updates on or off", where: "Lists" }, () =>
    onLive(!isLive),
  );
  return (
    <span className={styles.live}>
      <Checkbox isSelected={isLive} onChange={onLive}>
        Live
      </Checkbox>
    </span>
  );
}
