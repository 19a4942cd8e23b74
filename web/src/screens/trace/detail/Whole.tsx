// A recorded value of any size: a small one is shown at once, a large one on request.
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import type { SpanContent } from "../../../api/schema";
import { Button } from "../../../components/Button";
import { LongText } from "../../../components/LongText";
import {
  type MarkedText,
  textBytes,
  unmarked,
  wholeValue,
} from "../../../components/messages/blobs";
import { ErrorNotice, Loading } from "../../../components/States";
import { bytes } from "../../../format/numbers";
import styles from "./Detail.module.css";
import { cutOf } from "./useSpan";

const AT_ONCE = 400_000; // bytes of text that are loaded automatically

interface Props {
  content: SpanContent;
  /** The path of the value in the span. */
  path: readonly (string | number)[];
  children: (text: MarkedText) => ReactNode;
}

export function Whole({ content, path, children }: Props) {
  const cut = cutOf(content, ...path);
  const size = cut ? textBytes(cut) : 0;
  const [isWanted, want] = useState(size <= AT_ONCE);
  const { trace_id, span_id } = content.span;
  const read = useQuery({
    ...wholeValue(trace_id, span_id, cut ?? { path: [], characters: 0, parts: [] }),
    enabled: cut !== undefined && isWanted,
  });
  const text = valueAt(content.span, path);
  if (typeof text !== "string") return null;
  if (!cut) return children(unmarked(text));
  if (read.data) return children(read.data);
  if (read.isError) {
    const retry = () => void read.refetch();
    return (
      <ErrorNotice what="The whole value could not be read" error={read.error} onRetry={retry} />
    );
  }
  if (isWanted) return <Loading what="the whole value" lines={4} />;
  return (
    <div className={styles.cut}>
      <LongText text={text} mono />
      <Button small onPress={() => want(true)}>
        Show all, {bytes(size)}
      </Button>
    </div>
  );
}

function valueAt(span: unknown, path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (value, step) => (value as Record<string | number, unknown> | null | undefined)?.[step],
    span,
  );
}
