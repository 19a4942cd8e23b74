// One tool: its description, its statistics, its arguments, and the form to call it.
import { useState } from "react";
import type { ListedTool, ToolCalls } from "../../api/schema";
import { Badge } from "../../components/Badge";
import { Code } from "../../components/Code";
import { LongText } from "../../components/LongText";
import { Facts } from "../../components/Section";
import { Tabs } from "../../components/Tabs";
import { count, milliseconds, percent } from "../../format/numbers";
import { ago, exactMoment } from "../../format/times";
import { visible } from "../../text/visible";
import { CallForm } from "./CallForm";
import { membersOf } from "./form/fields";
import { SchemaTable } from "./form/SchemaTable";
import styles from "./Tools.module.css";

type Tab = "call" | "schema" | "json";
const WRITES = { read: "plain", write: "warn", ui: "accent", spends: "warn" } as const;

interface Props {
  tool: ListedTool;
  calls: ToolCalls | undefined;
}

export function ToolDetail({ tool, calls }: Props) {
  const [tab, setTab] = useState<Tab>("call");
  return (
    <article className={styles.tool} aria-label={tool.name}>
      <header className={styles.header}>
        <h2>{visible(tool.name)}</h2>
        <Badge tone={WRITES[tool.effect]}>{tool.effect}</Badge>
        <Badge>{tool.tool_class}</Badge>
        <Badge>{tool.place === "external" ? "run by a front end" : "run here"}</Badge>
        <Badge>version {tool.version}</Badge>
      </header>
      <LongText text={tool.description} first={4_000} />
      <Statistics calls={calls} />
      <Tabs<Tab>
        label={tool.name}
        value={tab}
        onChange={setTab}
        tabs={[
          { id: "call", name: "Call", content: <CallForm tool={tool} /> },
          {
            id: "schema",
            name: "Arguments",
            content: <SchemaTable members={membersOf(tool.parameters)} />,
          },
          {
            id: "json",
            name: "Schema as JSON",
            content: (
              <Code
                text={JSON.stringify(tool.parameters, null, 2)}
                language="json"
                label="Schema"
              />
            ),
          },
        ]}
      />
    </article>
  );
}

function Statistics({ calls }: { calls: ToolCalls | undefined }) {
  if (!calls) return <p className={styles.quiet}>No calls yet.</p>;
  const failures = Object.entries(calls.failures);
  return (
    <Facts
      facts={[
        ["Calls", count(calls.calls)],
        ["Succeeded", percent(calls.success_rate)],
        [
          "Failed",
          failures.length > 0 &&
            failures.map(([kind, times]) => `${kind || "unknown"} ${count(times)}`).join(", "),
        ],
        [
          "Time",
          calls.latency_ms &&
            `p50 ${milliseconds(calls.latency_ms.p50)}, p95 ${milliseconds(calls.latency_ms.p95)}, longest ${milliseconds(calls.latency_ms.max)}`,
        ],
        [
          "Last",
          <time key="last" title={exactMoment(calls.last_us)}>
            {ago(calls.last_us)}
          </time>,
        ],
      ]}
    />
  );
}
