// The detail next to the tree: the selected span, rendered by its kind.
import type { SpanContent } from "../../../api/schema";
import { Badge, KindMark, StatusBadge } from "../../../components/Badge";
import { JsonView } from "../../../components/JsonView";
import { Origin, originOf } from "../../../components/Origin";
import { ErrorNotice, Loading } from "../../../components/States";
import { Tabs } from "../../../components/Tabs";
import { visible } from "../../../text/visible";
import type { DetailTab } from "../../searches";
import { FLAG, has, nameAt, type Tree } from "../model/tree";
import { ODD } from "../tree/Row";
import styles from "./Detail.module.css";
import { DetailActions } from "./DetailActions";
import { Events } from "./Events";
import { Facts } from "./Facts";
import { Findings } from "./Findings";
import { Formatted } from "./Formatted";
import { Metadata } from "./Metadata";
import { SameCallNote } from "./SameCallNote";
import { spanAddress, useSpan } from "./useSpan";

/** Marks that the tree lacks: only the content of a span has them. */
const OF_CONTENT = new Set(["truncated", "dropped", "unreadable"]);

interface Props {
  tree: Tree;
  place: number;
  tab: DetailTab;
  onTab: (tab: DetailTab) => void;
  onReveal: (place: number) => void;
}

export function SpanDetail(props: Props) {
  const { tree, place } = props;
  const read = useSpan(tree, place);
  if (has(tree, place, FLAG.missing)) return <Missing id={tree.ids[place] ?? ""} />;
  if (read.error && !read.data) {
    const retry = () => void read.refetch();
    return <ErrorNotice what="The span could not be read" error={read.error} onRetry={retry} />;
  }
  if (!read.data) {
    return (
      <>
        <header className={styles.header}>
          <h2>{visible(nameAt(tree, place).slice(0, 300))}</h2>
        </header>
        <Loading what="the span" />
      </>
    );
  }
  // Each span has its own state: folding and scrolling of another one do not stay.
  return <OpenSpan key={read.data.span.span_id} {...props} content={read.data} />;
}

function OpenSpan({
  tree,
  place,
  tab,
  onTab,
  onReveal,
  content,
}: Props & { content: SpanContent }) {
  const { span } = content;
  return (
    <>
      <header className={styles.header}>
        <div className={styles.title}>
          <KindMark kind={span.kind} />
          <h2>{visible(nameAt(tree, place).slice(0, 300))}</h2>
          <StatusBadge status={span.status} lastUs={span.start_us} />
          {ODD.filter(([flag]) => has(tree, place, flag)).map(([flag, sign, words]) => (
            <Badge key={flag} tone="warn">
              <span aria-hidden="true">{sign}</span> {words}
            </Badge>
          ))}
          {content.marks
            .filter(({ mark }) => OF_CONTENT.has(mark))
            .map(({ mark, words }) => (
              <Badge key={mark} tone="warn" title={visible(words)}>
                {mark}
              </Badge>
            ))}
        </div>
        <DetailActions span={span} />
        <Facts span={span} isCounted={!has(tree, place, FLAG.uncounted | FLAG.elsewhere)} />
        <p className={styles.labels}>
          <Origin of={originOf([span])} list="/traces" />
        </p>
        <SameCallNote sameCall={content.same_call} />
      </header>
      <Tabs<DetailTab>
        label="Views of the span"
        value={tab}
        onChange={onTab}
        tabs={[
          {
            id: "formatted",
            name: "Formatted",
            content: (
              <>
                <Findings traceId={span.trace_id} spanId={span.span_id} />
                <Formatted content={content} />
              </>
            ),
          },
          { id: "json", name: "JSON", content: <Json content={content} /> },
          {
            id: "metadata",
            name: "Metadata",
            content: <Metadata content={content} tree={tree} place={place} onReveal={onReveal} />,
          },
          {
            id: "events",
            name: span.events.length > 0 ? `Events ${span.events.length}` : "Events",
            content: <Events content={content} />,
          },
        ]}
      />
    </>
  );
}

function Json({ content }: { content: SpanContent }) {
  const address = `${spanAddress(content.span.trace_id, content.span.span_id)}?whole=true`;
  return (
    <div className={styles.formatted}>
      <p className={styles.about}>
        {content.cut.length > 0 && "Large values are shortened here. "}
        <a href={address} target="_blank" rel="noreferrer">
          Open the full span as JSON
        </a>
      </p>
      <JsonView value={content.span} openDepth={1} />
    </div>
  );
}

function Missing({ id }: { id: string }) {
  return (
    <>
      <header className={styles.header}>
        <h2>Parent span not recorded</h2>
      </header>
      <div className={styles.formatted}>
        <p>
          Other spans name this parent: <code>{visible(id)}</code>. The page shows the span when it
          arrives.
        </p>
      </div>
    </>
  );
}
