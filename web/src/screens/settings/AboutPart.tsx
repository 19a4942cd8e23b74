// The server of this page: its state, the addresses for other programs, and the theme.
import type { ReactNode } from "react";
import type { Health } from "../../api/schema";
import { CopyButton } from "../../components/CopyButton";
import { Facts, Section } from "../../components/Section";
import { ErrorNotice, Loading } from "../../components/States";
import { bytes, count } from "../../format/numbers";
import { ThemeChoice } from "../../shell/ThemeChoice";
import { visible } from "../../text/visible";
import { useHealth } from "./queries";
import styles from "./Settings.module.css";

export function AboutPart() {
  const found = useHealth();
  return (
    <>
      <Section title="Theme">
        <div>
          <ThemeChoice />
        </div>
      </Section>
      <Section title="This server">
        {found.isPending ? (
          <Loading what="the state of the server" />
        ) : !found.data ? (
          <ErrorNotice
            what="The state of the server could not be read"
            error={found.error}
            onRetry={() => void found.refetch()}
          />
        ) : (
          <Server health={found.data} />
        )}
      </Section>
      {found.data && <Addresses health={found.data} />}
    </>
  );
}

function Server({ health }: { health: Health }) {
  const { index, traces, gateway, model } = health;
  return (
    <Facts
      facts={[
        ["Version", health.version],
        ["Repository", <code key="root">{visible(health.root)}</code>],
        [
          "Index",
          `${count(index.files)} files, ${count(index.items)} items, ${index.fresh ? "up to date" : "updated with the next question"}`,
        ],
        ["Default model", model.model ? visible(`${model.provider}/${model.model}`) : model.error],
        [
          "Traces",
          traces.recorder === "on"
            ? `${bytes(traces.size_bytes)}, ${bytes(traces.pending_bytes)} not written yet`
            : "not recorded",
        ],
        ["Lost spans", traces.lost > 0 && count(traces.lost)],
        ["Not recorded", health.recording],
        [
          "Gateway",
          `${gateway.calls === 1 ? "1 call" : `${count(gateway.calls)} calls`} since the server started${gateway.unrecorded > 0 ? `, ${count(gateway.unrecorded)} not recorded: ${gateway.reason}` : ""}`,
        ],
      ]}
    />
  );
}

function Addresses({ health }: { health: Health }) {
  const { origin } = location;
  const grpc = "with the extra `grpc`, OTLP over gRPC at the port of traces.grpc_port";
  return (
    <Section title="Addresses for other programs">
      <Facts
        facts={[
          [
            "Gateway, for OpenAI's clients",
            <Address key="g" text={`${origin}${health.gateway.path}`} />,
          ],
          [
            "OpenTelemetry traces",
            <Address key="t" text={`${origin}${health.traces.otlp_path}`} below={grpc} />,
          ],
          ["MCP", <Address key="m" text={`${origin}/mcp`} />],
          ["OpenAPI document", <Address key="a" text={`${origin}/api/openapi.json`} />],
        ]}
      />
    </Section>
  );
}

function Address({ text, below }: { text: string; below?: string }): ReactNode {
  return (
    <>
      <span className={styles.address}>
        <code>{text}</code>
        <CopyButton text={text} />
      </span>
      {below && <p className={styles.quiet}>{below}</p>}
    </>
  );
}
