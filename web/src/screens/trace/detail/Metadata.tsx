// All other data of a span: ids, relatives, labels, attributes, and its source.
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { SpanContent } from "../../../api/schema";
import { Button } from "../../../components/Button";
import { CopyButton } from "../../../components/CopyButton";
import { JsonView } from "../../../components/JsonView";
import { exactMoment } from "../../../format/times";
import { visible } from "../../../text/visible";
import { nameAt, type Tree } from "../model/tree";
import styles from "./Detail.module.css";
import { Part } from "./Part";

interface Props {
  content: SpanContent;
  tree: Tree;
  place: number;
  onReveal: (place: number) => void;
}

export function Metadata({ content, tree, place, onReveal }: Props) {
  const { span } = content;
  const parent = tree.parents[place] ?? -1;
  return (
    <div className={styles.formatted}>
      <Part title="Ids">
        <dl className={styles.facts}>
          <Id name="Span" id={span.span_id} />
          <Id name="Trace" id={span.trace_id} />
          {span.run_id !== null && (
            <Id name="Run" id={span.run_id}>
              <Link to="/runs/$runId" params={{ runId: span.run_id }}>
                Open
              </Link>
            </Id>
          )}
          {span.thread_id !== null && (
            <Id name="Thread" id={span.thread_id}>
              <Link to="/threads/$threadId" params={{ threadId: span.thread_id }}>
                Open
              </Link>
            </Id>
          )}
        </dl>
      </Part>
      <Part title="Parent">
        {parent >= 0 ? (
          <Button small onPress={() => onReveal(parent)}>
            {visible(nameAt(tree, parent).slice(0, 200))}
          </Button>
        ) : (
          <p className={styles.about}>
            {span.parent_id === null
              ? "None: this is a root span."
              : "The parent is not in this trace."}
          </p>
        )}
      </Part>
      <Times content={content} />
      <Links content={content} />
      <Part title="Attributes">
        <JsonView value={span.attributes} />
      </Part>
      <Part title="Reported by">
        <JsonView value={span.resource} />
      </Part>
    </div>
  );
}

function Id({ name, id, children }: { name: string; id: string; children?: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd className={styles.id}>
        <code>{visible(id)}</code>
        <CopyButton text={id} />
        {children}
      </dd>
    </div>
  );
}

function Times({ content: { span } }: { content: SpanContent }) {
  return (
    <Part title="Times">
      <dl className={styles.facts}>
        <div>
          <dt>Start</dt>
          <dd>{exactMoment(span.start_us)}</dd>
        </div>
        <div>
          <dt>End</dt>
          <dd>{span.end_us === null ? "No end was recorded." : exactMoment(span.end_us)}</dd>
        </div>
      </dl>
    </Part>
  );
}

function Links({ content: { span } }: { content: SpanContent }) {
  if (span.links.length === 0) return null;
  return (
    <Part title="Links to other spans">
      <ul className={styles.sources}>
        {span.links.map((link) => (
          <li key={`${link.trace_id} ${link.span_id}`}>
            <Link
              to="/traces/$traceId"
              params={{ traceId: link.trace_id }}
              search={{ span: link.span_id }}
            >
              {visible(link.span_id)}
            </Link>
            {Object.keys(link.attributes).length > 0 && <JsonView value={link.attributes} />}
          </li>
        ))}
      </ul>
    </Part>
  );
}
