// All experiments, last changed first.
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { Button } from "../../components/Button";
import { EmptyState, ErrorNotice, Loading } from "../../components/States";
import { useRowKeys } from "../../components/table/rowFocus";
import { count } from "../../format/numbers";
import { Screen } from "../../shell/Screen";
import { useShortcut } from "../../shortcuts/ShortcutProvider";
import { DeleteDialog } from "./DeleteDialog";
import { ExperimentTable } from "./ExperimentTable";
import { FromQueryDialog } from "./FromQueryDialog";
import { type Listed, useExperiments } from "./queries";
import { useFollowingAll } from "./useFollowing";

export function ExperimentsScreen() {
  const found = useExperiments();
  const [deleting, remove] = useState<Listed | null>(null);
  const [asking, ask] = useState(false);
  const navigate = useNavigate();
  useFollowingAll();
  useShortcut({ keys: "n", does: "New experiment from a query", where: "Experiments" }, () =>
    ask(true),
  );
  useRowKeys("experiments");
  const rows = found.data?.pages.flatMap((page) => page.data) ?? [];
  const total = found.data?.pages[0]?.pagination.total;
  return (
    <Screen
      title="Experiments"
      about={total ? count(total) : undefined}
      actions={
        <Button keys="n" onPress={() => ask(true)}>
          New from a query…
        </Button>
      }
    >
      {found.isPending ? (
        <Loading what="experiments" />
      ) : found.isError ? (
        <ErrorNotice
          what="The experiments could not be read"
          error={found.error}
          onRetry={() => void found.refetch()}
        />
      ) : rows.length === 0 ? (
        <EmptyState title="No experiments yet" snippet="treadle experiment new LAST">
          An experiment changes a recorded model call and runs both versions, so that you see the
          effect on cost, tokens, time and output. Open any model call in a trace and press{" "}
          <kbd>x</kbd>, or create one from the newest call in the terminal:
        </EmptyState>
      ) : (
        <>
          <ExperimentTable rows={rows} onDelete={remove} />
          {found.hasNextPage && (
            <Button
              kind="quiet"
              isDisabled={found.isFetchingNextPage}
              onPress={() => void found.fetchNextPage()}
            >
              Show more
            </Button>
          )}
        </>
      )}
      <DeleteDialog experiment={deleting} onClose={() => remove(null)} />
      <FromQueryDialog
        isOpen={asking}
        onOpenChange={ask}
        onMade={(id) =>
          void navigate({ to: "/experiments/$experimentId", params: { experimentId: id } })
        }
      />
    </Screen>
  );
}
