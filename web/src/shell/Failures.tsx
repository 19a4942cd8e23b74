// What is shown where no screen is, and where one broke.
import { type ErrorComponentProps, Link } from "@tanstack/react-router";
import { EmptyState, ErrorNotice } from "../components/States";
import { Screen } from "./Screen";

export function NotFoundScreen() {
  return (
    <Screen title="Not found">
      <EmptyState title="There is nothing at this address.">
        Go to the <Link to="/threads">threads</Link>, or choose a screen.
      </EmptyState>
    </Screen>
  );
}

export function CrashScreen({ error, reset }: ErrorComponentProps) {
  return (
    <Screen title="Something broke">
      <ErrorNotice what="This screen could not be shown" error={error} onRetry={reset} />
    </Screen>
  );
}
