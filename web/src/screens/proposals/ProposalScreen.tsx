// A proposed change: its files and hunks, and a person's decisions.
import { Link, useParams } from "@tanstack/react-router";
import type { ShownProposal } from "../../api/schema";
import { ErrorNotice, Loading } from "../../components/States";
import { ago, exactMoment } from "../../format/times";
import { Screen } from "../../shell/Screen";
import { visible } from "../../text/visible";
import { DecisionBar } from "./DecisionBar";
import { FileView } from "./FileView";
import styles from "./Proposals.module.css";
import { useProposal } from "./queries";
import { isOpen, ProposalBadge } from "./state";
import { useHunks } from "./useHunks";

export function ProposalScreen() {
  const { proposalId = "" } = useParams({ strict: false });
  const found = useProposal(proposalId);
  if (found.data) return <Shown proposal={found.data} />;
  return (
    <Screen title="Proposal">
      {found.isError ? (
        <ErrorNotice
          what="The proposal could not be read"
          error={found.error}
          onRetry={() => void found.refetch()}
        />
      ) : (
        <Loading what="the proposal" lines={12} />
      )}
    </Screen>
  );
}

function Shown({ proposal }: { proposal: ShownProposal }) {
  const open = isOpen(proposal.state);
  const hunks = useHunks(proposal, open);
  return (
    <Screen
      title={visible(proposal.summary)}
      about={
        <>
          <ProposalBadge state={proposal.state} />
          <time title={exactMoment(proposal.changed_us)}>{ago(proposal.changed_us)}</time>
          {proposal.session_id && (
            <Link to="/sessions/$sessionId" params={{ sessionId: proposal.session_id }}>
              Session
            </Link>
          )}
          {proposal.request_id && (
            <Link
              to="/traces/$traceId"
              params={{ traceId: proposal.request_id.replaceAll("-", "") }}
            >
              Trace
            </Link>
          )}
        </>
      }
    >
      <DecisionBar proposal={proposal} hunks={hunks} />
      <About proposal={proposal} />
      {proposal.files.map((file) => (
        <FileView key={file.path} file={file} isOpen={open} hunks={hunks} />
      ))}
    </Screen>
  );
}

function About({ proposal }: { proposal: ShownProposal }) {
  const { reason, words, notes, warnings, state } = proposal;
  if (!reason && !words && notes.length === 0 && warnings.length === 0) return null;
  return (
    <div className={styles.about}>
      {reason && isOpen(state) && (
        <p className={styles.note}>
          <strong>No file was changed:</strong> {visible(reason)}
        </p>
      )}
      {words && (
        <p className={styles.note}>
          <strong>Your reason:</strong> {visible(words)}
        </p>
      )}
      {warnings.map((warning) => (
        <p key={warning} className={styles.note}>
          <strong>Warning:</strong> {visible(warning)}
        </p>
      ))}
      {notes.map((note) => (
        <p key={note} className={styles.note}>
          {visible(note)}
        </p>
      ))}
    </div>
  );
}
