// The proposals for the repository, newest first.
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import type { ListedProposal, ProposalState } from "../../api/schema";
import { Button } from "../../components/Button";
import { type PlainColumn, PlainTable } from "../../components/PlainTable";
import { Select } from "../../components/Select";
import { EmptyState, ErrorNotice, Loading } from "../../components/States";
import { useRowKeys } from "../../components/table/rowFocus";
import { count } from "../../format/numbers";
import { ago, exactMoment } from "../../format/times";
import { choice } from "../../search";
import { Screen } from "../../shell/Screen";
import { visible } from "../../text/visible";
import styles from "./Proposals.module.css";
import { useProposals } from "./queries";
import { ProposalBadge, STATES } from "./state";

const PAGE = 50;
const MOST = 1_000;
const ALL = "all";

export function ProposalsScreen() {
  const search: { state?: string } = useSearch({ strict: false });
  const navigate = useNavigate();
  const state = choice(search.state, STATES);
  const [limit, setLimit] = useState(PAGE);
  const found = useProposals(state, limit);
  const rows = found.data?.data ?? [];
  const filter = (wanted: ProposalState | typeof ALL) =>
    void navigate({
      to: "/proposals",
      search: wanted === ALL ? {} : { state: wanted },
      replace: true,
    });
  useRowKeys("proposals");
  return (
    <Screen
      title="Proposals"
      actions={
        <Select
          label="State"
          value={state ?? ALL}
          options={[{ id: ALL, name: "all" }, ...STATES.map((id) => ({ id, name: id }))]}
          onChange={(wanted) => filter(wanted as ProposalState | typeof ALL)}
        />
      }
    >
      {found.isPending ? (
        <Loading what="the proposals" />
      ) : found.isError && rows.length === 0 ? (
        <ErrorNotice
          what="The proposals could not be read"
          error={found.error}
          onRetry={() => void found.refetch()}
        />
      ) : rows.length === 0 ? (
        <Empty state={state} onAll={() => filter(ALL)} />
      ) : (
        <PlainTable label="Proposals" columns={COLUMNS} rows={rows} idOf={(row) => row.id} />
      )}
      {rows.length >= limit && limit < MOST && (
        <div className={styles.more}>
          <Button isDisabled={found.isFetching} onPress={() => setLimit(Math.min(MOST, limit * 4))}>
            Show more
          </Button>
        </div>
      )}
    </Screen>
  );
}

function Empty({ state, onAll }: { state: ProposalState | undefined; onAll: () => void }) {
  if (state) {
    return (
      <EmptyState
        title={`No proposals with the state ${state}`}
        action={<Button onPress={onAll}>Show all proposals</Button>}
      />
    );
  }
  return (
    <EmptyState title="No proposals" snippet={`treadle ask "Add a docstring to main"`}>
      When a model changes files, it proposes the change first. You see it here and in the terminal,
      and Treadle writes only approved changes. Ask for a change in a{" "}
      <Link to="/sessions">session</Link>, or from the terminal:
    </EmptyState>
  );
}

const COLUMNS: readonly PlainColumn<ListedProposal>[] = [
  {
    id: "summary",
    name: "Proposal",
    isTitle: true,
    grows: true,
    cell: (row) => (
      <Link to="/proposals/$proposalId" params={{ proposalId: row.id }}>
        {visible(row.summary)}
      </Link>
    ),
  },
  { id: "state", name: "State", cell: (row) => <ProposalBadge state={row.state} /> },
  { id: "files", name: "Files", align: "end", cell: (row) => count(row.files.length) },
  {
    id: "lines",
    name: "Lines",
    align: "end",
    cell: (row) => (
      <Lines
        added={row.files.reduce((sum, file) => sum + file.added, 0)}
        removed={row.files.reduce((sum, file) => sum + file.removed, 0)}
      />
    ),
  },
  {
    id: "session",
    name: "Session",
    cell: (row) =>
      row.session_id && (
        <Link to="/sessions/$sessionId" params={{ sessionId: row.session_id }}>
          session
        </Link>
      ),
  },
  {
    id: "changed",
    name: "Changed",
    cell: (row) => <time title={exactMoment(row.changed_us)}>{ago(row.changed_us)}</time>,
  },
];

export function Lines({ added, removed }: { added: number; removed: number }) {
  return (
    <span className={styles.lines}>
      <span className={styles.added}>+{count(added)}</span>{" "}
      <span className={styles.removed}>−{count(removed)}</span>
    </span>
  );
}
