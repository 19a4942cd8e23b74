// What a run, trace or thread can be compared with, the most similar first.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { client, ok } from "../../api/client";
import type { CandidateReason, ComparisonCandidate } from "../../api/schema";
import { StatusBadge } from "../../components/Badge";
import { ErrorNotice, Loading } from "../../components/States";
import { moment } from "../../format/times";
import { visible } from "../../text/visible";
import styles from "./Compare.module.css";

const REASONS: Record<CandidateReason, string> = {
  previous: "Previous run of this thread",
  next: "Next run of this thread",
  same_question: "Same question",
  same_name: "Same name",
  recent: "Recent",
};

export function Candidates({ of }: { of: string }) {
  const read = useQuery({
    queryKey: ["candidates", of],
    queryFn: ({ signal }) =>
      ok(client.GET("/api/v1/comparison_candidates", { params: { query: { id: of } }, signal })),
  });
  if (read.error) return <ErrorNotice what="The runs could not be read" error={read.error} />;
  if (!read.data) return <Loading what="the runs" lines={4} />;
  if (read.data.data.length === 0) return <p>Nothing else is recorded.</p>;
  const groups = Object.entries(REASONS)
    .map(([reason, name]) => ({
      name,
      found: read.data.data.filter((candidate) => candidate.reason === reason),
    }))
    .filter(({ found }) => found.length > 0);
  return (
    <div className={styles.candidates}>
      {groups.map(({ name, found }) => (
        <section key={name} aria-label={name}>
          <h3>{name}</h3>
          <ul>
            {found.map((candidate) => (
              <li key={candidate.subject.id}>
                <Candidate of={of} candidate={candidate} />
              </li>
            ))}
          </ul>
        </section>
      ))}
    </div>
  );
}

function Candidate({ of, candidate }: { of: string; candidate: ComparisonCandidate }) {
  const { subject, title, start_us, status, models } = candidate;
  // The older side is A, so that the differences read as what changed since then.
  return (
    <Link to="/compare" search={{ a: subject.id, b: of }} className={styles.candidate}>
      <span className={styles.candidateName}>{visible(title.slice(0, 200))}</span>
      <span className={styles.candidateFacts}>
        {status && <StatusBadge status={status} quiet />}
        {models.length > 0 && <code>{visible(models.join(", "))}</code>}
        <time>{moment(start_us)}</time>
      </span>
    </Link>
  );
}
