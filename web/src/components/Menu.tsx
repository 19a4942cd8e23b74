// A menu under a button.
import type { ReactNode } from "react";
import { Menu as AriaMenu, MenuItem, MenuTrigger, Popover } from "react-aria-components";
import { Button } from "./Button";
import { Keys } from "./Keys";
import styles from "./Menu.module.css";

export interface Action {
  id: string;
  name: string;
  run: () => void;
  keys?: string;
  isDisabled?: boolean;
  danger?: boolean;
}

interface Props {
  label: ReactNode;
  /** For a button that shows only a symbol. */
  "aria-label"?: string;
  actions: readonly Action[];
  small?: boolean;
}

export function Menu({ label, actions, small = true, ...rest }: Props) {
  return (
    <MenuTrigger>
      <Button small={small} {...rest}>
        {label} <span aria-hidden="true">▾</span>
      </Button>
      <Popover className={styles.popover ?? ""} offset={4}>
        <AriaMenu
          className={styles.menu ?? ""}
          items={actions}
          disabledKeys={actions.filter((each) => each.isDisabled).map((each) => each.id)}
        >
          {(action) => (
            <MenuItem
              id={action.id}
              textValue={action.name}
              onAction={action.run}
              className={[styles.item, action.danger ? styles.danger : ""].join(" ")}
            >
              <span>{action.name}</span>
              {action.keys && <Keys keys={action.keys} />}
            </MenuItem>
          )}
        </AriaMenu>
      </Popover>
    </MenuTrigger>
  );
}
