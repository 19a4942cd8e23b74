// Breakpoints of the gateway, and the calls that they hold or held.
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { Button } from "../../components/Button";
import { Section } from "../../components/Section";
import { EmptyState, ErrorNotice, Loading } from "../../components/States";
import { useRowKeys } from "../../components/table/rowFocus";
import { count } from "../../format/numbers";
import { Screen } from "../../shell/Screen";
import { useShortcut } from "../../shortcuts/ShortcutProvider";
import { AddDialog } from "./AddDialog";
import { BreakpointTable } from "./BreakpointTable";
import { HeldDetail } from "./HeldDetail";
import { HeldTable } from "./HeldTable";
import { isWaiting, useBreakpoints, useHeld } from "./queries";

const HERE = "Breakpoints";

export function BreakpointsScreen() {
  const search: { held?: string } = useSearch({ strict: false });
  const navigate = useNavigate();
  const breakpoints = useBreakpoints();
  const held = useHeld();
  const [adding, add] = useState(false);
  const show = (id: string | undefined) =>
    void navigate({ to: "/breakpoints", search: id ? { held: id } : {}, replace: true });
  useShortcut({ keys: "n", does: "New breakpoint", where: HERE }, () => add(true));
  useShortcut(
    { keys: "Escape", does: "Close the held call", where: HERE },
    () => show(undefined),
    search.held !== undefined,
  );
  const calls = held.data?.data ?? [];
  const waiting = calls.filter(isWaiting).length;
  useRowKeys("calls and breakpoints");
  return (
    <Screen
      title="Breakpoints"
      about={waiting > 0 ? `${count(waiting)} held` : undefined}
      actions={
        <Button keys="n" onPress={() => add(true)}>
          New breakpoint…
        </Button>
      }
    >
      {search.held && (
        <HeldDetail
          key={search.held}
          id={search.held}
          listed={calls.find((each) => each.id === search.held)}
          onClose={() => show(undefined)}
        />
      )}
      <Section title="Held calls" flush>
        {held.isPending ? (
          <Loading what="the held calls" lines={3} />
        ) : held.isError && calls.length === 0 ? (
          <ErrorNotice
            what="The held calls could not be read"
            error={held.error}
            onRetry={() => void held.refetch()}
          />
        ) : calls.length === 0 ? (
          <EmptyState title="No held calls" snippet={gatewayLine(location.origin)}>
            When a call through the gateway matches a breakpoint, it waits here until you continue,
            change or refuse it.
          </EmptyState>
        ) : (
          <HeldTable calls={calls} chosen={search.held} />
        )}
      </Section>
      <Section title="Breakpoints" flush>
        {breakpoints.isPending ? (
          <Loading what="the breakpoints" lines={3} />
        ) : breakpoints.isError && !breakpoints.data ? (
          <ErrorNotice
            what="The breakpoints could not be read"
            error={breakpoints.error}
            onRetry={() => void breakpoints.refetch()}
          />
        ) : (
          <BreakpointTable list={breakpoints.data} onAdd={() => add(true)} />
        )}
      </Section>
      <AddDialog isOpen={adding} onClose={() => add(false)} />
    </Screen>
  );
}

function gatewayLine(origin: string): string {
  return `export OPENAI_BASE_URL=${origin}/v1`;
}
