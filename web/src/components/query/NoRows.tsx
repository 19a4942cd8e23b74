// What stands in the place of a list without rows: how to record some, or that none fit.
import { Button } from "../Button";
import { EmptyState } from "../States";
import { useQueryText } from "./queryText";
import type { View } from "./views";

export function NoRows({ what, query }: { what: View; query: string }) {
  const { setText } = useQueryText();
  if (query) {
    return (
      <EmptyState
        title={`No ${what.slice(0, -1)} fits this query.`}
        action={<Button onPress={() => setText("")}>{`Show all ${what}`}</Button>}
      >
        Take out a term, choose a longer time, or look at a word as a beginning: <code>time*</code>.
      </EmptyState>
    );
  }
  return (
    <EmptyState title="Nothing is recorded yet." snippet={waysIn(location.origin)}>
      Point a client at the gateway, or an OpenTelemetry exporter at this server, and each call
      appears here at once. So does what you ask with <code>treadle ask</code>.
    </EmptyState>
  );
}

/** Both ways for a program to be recorded, with the address of this page. */
export function waysIn(origin: string): string {
  return `# OpenAI's clients: calls are passed on to your provider, and recorded
export OPENAI_BASE_URL=${origin}/v1

# anything that speaks OpenTelemetry (OTLP over HTTP)
export OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=${origin}/v1/traces
export OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf`;
}
