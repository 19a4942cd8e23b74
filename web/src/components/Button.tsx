// Buttons. `kind` states how prominent a button is.
import {
  Button as AriaButton,
  type ButtonProps,
  Tooltip,
  TooltipTrigger,
} from "react-aria-components";
import styles from "./Button.module.css";
import { Keys } from "./Keys";

interface Props extends Omit<ButtonProps, "className" | "style"> {
  kind?: "plain" | "primary" | "danger" | "quiet";
  small?: boolean;
  /** Shown on hover and focus, with the equivalent keys. */
  tip?: string;
  keys?: string;
}

export function Button({ kind = "plain", small = false, tip, keys, ...props }: Props) {
  const className = [styles.button, styles[kind], small ? styles.small : ""].join(" ");
  const button = <AriaButton {...props} className={className} />;
  if (!tip && !keys) return button;
  return (
    <TooltipTrigger delay={400}>
      {button}
      <Tooltip className={styles.tip ?? ""} offset={6}>
        {tip} {keys && <Keys keys={keys} />}
      </Tooltip>
    </TooltipTrigger>
  );
}
