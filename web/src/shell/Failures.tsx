// The screens for unknown addresses and for errors.
import { type ErrorComponentProps, Link } from "@tanstack/react-router";
import { EmptyState, ErrorNotice } from "../components/States";
import { Screen } from "./Screen";

export function NotFoundScreen() {
  return (
    <Screen title="Not found">
      <EmptyState title="This page does not exist.">
        Go to the <Link to="/threads">threads</Link>, or choose a screen.
      </EmptyState>
    </Screen>
  );
}

export function CrashScreen({ error, reset }: ErrorComponentProps) {
  return (
    <Screen title="Something went wrong">
      <ErrorNotice what="This screen could not be displayed" error={error} onRetry={reset} />
    </Screen>
  );
}
