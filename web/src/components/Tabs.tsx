// Panels of which one is shown.
import type { ReactNode } from "react";
import { Tabs as AriaTabs, Tab, TabList, TabPanel } from "react-aria-components";
import styles from "./Tabs.module.css";

interface Props<T extends string> {
  label: string;
  value: T;
  onChange: (value: T) => void;
  tabs: readonly { id: T; name: ReactNode; content: ReactNode }[];
}

export function Tabs<T extends string>({ label, value, onChange, tabs }: Props<T>) {
  return (
    <AriaTabs
      className={styles.tabs ?? ""}
      selectedKey={value}
      onSelectionChange={(key) => onChange(key as T)}
    >
      <TabList aria-label={label} className={styles.list ?? ""}>
        {tabs.map((tab) => (
          <Tab key={tab.id} id={tab.id} className={styles.tab ?? ""}>
            {tab.name}
          </Tab>
        ))}
      </TabList>
      {tabs.map((tab) => (
        <TabPanel key={tab.id} id={tab.id} className={styles.panel ?? ""}>
          {tab.content}
        </TabPanel>
      ))}
    </AriaTabs>
  );
}
