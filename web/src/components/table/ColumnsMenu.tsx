// The menu of the columns of a list.
import { Menu, MenuItem, MenuTrigger, Popover } from "react-aria-components";
import { Button } from "../Button";
import menu from "../Menu.module.css";
import type { Column } from "./columns";

interface Props<Row> {
  columns: readonly Column<Row>[];
  shown: readonly Column<Row>[];
  onShown: (ids: ReadonlySet<string>) => void;
}

export function ColumnsMenu<Row>({ columns, shown, onShown }: Props<Row>) {
  const choices = columns.filter((column) => !column.isLink);
  return (
    <MenuTrigger>
      <Button small>Columns</Button>
      <Popover className={menu.popover ?? ""} offset={4} placement="bottom end">
        <Menu
          aria-label="Columns"
          className={menu.menu ?? ""}
          items={choices}
          selectionMode="multiple"
          selectedKeys={shown.map((column) => column.id)}
          onSelectionChange={(chosen) => onShown(new Set([...chosen].map(String)))}
        >
          {(column) => (
            <MenuItem id={column.id} textValue={column.name} className={menu.item ?? ""}>
              {({ isSelected }) => (
                <>
                  {column.name} {isSelected && <span aria-hidden="true">✓</span>}
                </>
              )}
            </MenuItem>
          )}
        </Menu>
      </Popover>
    </MenuTrigger>
  );
}
