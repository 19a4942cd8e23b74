// What an empty list shows: how to record rows, or that none match.
import { Button } from "../Button";
import { EmptyState } from "../States";
import { useQueryText } from "./queryText";
import type { View } from "./views";

export function NoRows({ what, query }: { what: View; query: string }) {
  const { setText } = useQueryText();
  if (query) {
    return (
      <EmptyState
        title={`No ${what} match this query.`}
        action={<Button onPress={() => setText("")}>{`Show all ${what}`}</Button>}
      >
        Remove a term, choose a longer time range, or search for a prefix: <code>time*</code>.
      </EmptyState>
    );
  }
  return (
    <EmptyState title="Nothing is recorded yet." snippet={waysIn(location.origin)}>
      Point a client at the gateway, or an OpenTelemetry exporter at this server, and each call
      appears here at once. You can also record questions with <code>treadle ask</code>.
    </EmptyState>
  );
}

/** Both ways to record a program, with the address of this page. */
export function waysIn(origin: string): string {
  return `# OpenAI's clients: calls are forwarded to your provider and recorded
export OPENAI_BASE_URL=${origin}/v1

# any OpenTelemetry exporter (OTLP over HTTP)
export OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=${origin}/v1/traces
export OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf`;
}
