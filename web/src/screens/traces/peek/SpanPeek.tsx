// A span next to the list: its figures, its error, and its content in short.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { isNotFound } from "../../../api/client";
import type { ListedSpan, SpanContent } from "../../../api/schema";
import { KindMark, StatusBadge } from "../../../components/Badge";
import { Button } from "../../../components/Button";
import { Keys } from "../../../components/Keys";
import { messagesInText } from "../../../components/messages/chat";
import { Messages } from "../../../components/messages/Messages";
import type { Message } from "../../../components/messages/message";
import { Origin, originOf } from "../../../components/Origin";
import { SpanName } from "../../../components/SpanName";
import { ErrorNotice, Loading } from "../../../components/States";
import { counted } from "../../../format/numbers";
import { idsIn, type SpanIds } from "../../../format/spanKey";
import { visible } from "../../../text/visible";
import { DetailActions } from "../../trace/detail/DetailActions";
import { Facts } from "../../trace/detail/Facts";
import { Failures } from "../../trace/detail/Failures";
import { Formatted, Side } from "../../trace/detail/Formatted";
import { SameCallNote } from "../../trace/detail/SameCallNote";
import { useAskAnalyst } from "../useAskAnalyst";
import styles from "./Peek.module.css";
import { spanContent, useReadAhead } from "./reading";

interface Props {
  spanKey: string;
  /** The rows of the list. */
  rows: readonly ListedSpan[];
}

export function SpanPeek({ spanKey, rows }: Props) {
  const ids = idsIn(spanKey);
  if (!ids) {
    const error = "The address does not name a span. It must be a trace id, a slash and a span id.";
    return <ErrorNotice what="Span not found" error={error} />;
  }
  return <KnownSpan ids={ids} rows={rows} />;
}

function KnownSpan({ ids, rows }: { ids: SpanIds; rows: readonly ListedSpan[] }) {
  const queries = useQueryClient();
  const place = rows.findIndex(
    (span) => span.span_id === ids.span_id && span.trace_id === ids.trace_id,
  );
  const row = rows[place];
  const read = useQuery({
    ...spanContent(ids, row),
    // While it is read again, the earlier data stays.
    placeholderData: (before) => (before?.span.span_id === ids.span_id ? before : undefined),
  });
  useReadAhead(read.isSuccess, place, (next) => {
    const span = rows[next];
    if (span) void queries.prefetchQuery(spanContent(span, span));
  });
  const span = row ?? (isNotFound(read.error) ? undefined : read.data?.span);
  const retry = () => void read.refetch();
  return (
    <>
      {span && (
        <header className={styles.header}>
          <div className={styles.title}>
            <KindMark kind={span.kind} />
            <h2>
              <SpanName
                kind={span.kind}
                name={visible((span.name || span.operation).slice(0, 300))}
              />
            </h2>
            <StatusBadge status={span.status} lastUs={span.start_us} />
          </div>
          <div className={styles.actions}>
            <Link
              to="/traces/$traceId"
              params={{ traceId: ids.trace_id }}
              search={{ span: ids.span_id }}
              className={styles.open}
            >
              Open <Keys keys="Enter" />
            </Link>
            {read.data && <DetailActions span={read.data.span} />}
            <AskAnalyst />
          </div>
          {read.data && <Facts span={read.data.span} isCounted={row?.counted ?? true} />}
          {row && (
            <p className={styles.origin}>
              <Origin of={originOf([row])} list="/traces" />
            </p>
          )}
          {read.data && <SameCallNote sameCall={read.data.same_call} />}
        </header>
      )}
      {read.error ? (
        <ErrorNotice what="The span could not be read" error={read.error} onRetry={retry} />
      ) : read.data ? (
        <InShort content={read.data} />
      ) : (
        <Loading what="the span" />
      )}
    </>
  );
}

function AskAnalyst() {
  const ask = useAskAnalyst();
  return (
    <Button small onPress={ask}>
      Ask the analyst
    </Button>
  );
}

/** For a model call the new part of its request; for other spans everything, which is little. */
function InShort({ content }: { content: SpanContent }) {
  if (content.span.kind !== "model") return <Formatted content={content} />;
  return (
    <div className={styles.part}>
      <Failures span={content.span} />
      <Side content={content} side="input" title="New messages">
        {(text) => <Newest messages={messagesInText(text, "user")} />}
      </Side>
      <Side content={content} side="output" title="Reply">
        {(text) => <Messages messages={messagesInText(text, "assistant")} label="Reply" />}
      </Side>
    </div>
  );
}

/** The messages after the model's own last reply. */
function Newest({ messages }: { messages: readonly Message[] }) {
  const own = messages.findLastIndex((message) => message.role === "assistant");
  const newest = own === messages.length - 1 ? messages.slice(-1) : messages.slice(own + 1);
  const left = messages.length - newest.length;
  return (
    <>
      {left > 0 && <p className={styles.about}>{counted(left, "earlier message")} not shown</p>}
      <Messages messages={newest} label="New messages" />
    </>
  );
}
