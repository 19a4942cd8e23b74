// The findings of the detectors about a span, each with its quote.
import { useQuery } from "@tanstack/react-query";
import { client, ok } from "../../../api/client";
import type { ListedFinding } from "../../../api/schema";
import { Badge } from "../../../components/Badge";
import { written } from "../../../components/query/editing";
import { visible, withQuotesAsRecorded } from "../../../text/visible";
import styles from "./Detail.module.css";
import { Part } from "./Part";

const MOST = 50;

export function Findings({ traceId, spanId }: { traceId: string; spanId: string }) {
  const query = `trace:${written(traceId)} span:${written(spanId)}`;
  const found = useQuery({
    queryKey: ["findings", traceId, spanId],
    queryFn: ({ signal }) =>
      ok(client.GET("/api/v1/findings", { params: { query: { query, limit: MOST } }, signal })),
    retry: false,
  });
  // Next to the content, which is shown anyway: a failure here is not worth a notice.
  // The error of the span is shown above its content.
  const findings = (found.data?.data ?? []).filter(({ field }) => !isOfFailure(field));
  if (findings.length === 0) return null;
  return (
    <div className={styles.formatted}>
      <Part title="Found by detectors" about={String(findings.length)}>
        <ul className={styles.findings}>
          {findings.map((finding) => (
            <FindingView
              key={`${finding.detector} ${finding.field} ${finding.start}`}
              finding={finding}
            />
          ))}
        </ul>
      </Part>
    </div>
  );
}

function isOfFailure(field: string): boolean {
  return field === "error" || /^events\[\d+\]\.attributes\.exception\./.test(field);
}

const TONES = { high: "bad", medium: "warn", low: "plain" } as const;

function FindingView({ finding }: { finding: ListedFinding }) {
  return (
    <li>
      <Badge tone={TONES[finding.severity]}>{finding.severity}</Badge>{" "}
      <span>{visible(withQuotesAsRecorded(finding.message))}</span>
      <div className={styles.about}>
        <code>{visible(finding.field)}</code>{" "}
        <q className={styles.quote}>{visible(finding.quote)}</q>
      </div>
    </li>
  );
}
