// One span as a row of the tree: name, bar and figures.
import { memo } from "react";
import { letterOf } from "../../../components/Badge";
import { SpanName } from "../../../components/SpanName";
import { cost, duration, shortCount } from "../../../format/numbers";
import { FLAG, has, hasChildren, shownNameAt, type Tree, textAt } from "../model/tree";
import type { Zoom } from "../model/zoom";
import styles from "./Tree.module.css";

const INDENT_PX = 14;
const DEEPEST_SHOWN = 20; // deeper spans are not indented further, so that their names stay readable

interface Props {
  tree: Tree;
  place: number;
  /** Its number among the rows, from 0, and its position. */
  row: number;
  top: number;
  id: string;
  isActive: boolean;
  isCollapsed: boolean;
  isFound: boolean;
  isCritical: boolean;
  /** Its rank among the slowest; 0 if it is not among them. */
  slow: number;
  zoom: Zoom;
  /** There is room for tokens and cost. */
  isWide: boolean;
}

export const Row = memo(function Row(props: Props) {
  const { tree, place, row, top, id, isActive, isCollapsed } = props;
  const isParent = hasChildren(tree, place);
  const depth = tree.depths[place] ?? 0;
  const status = textAt(tree, tree.statuses, place);
  const kind = textAt(tree, tree.kinds, place) || "other";
  return (
    <div
      role="row"
      id={id}
      className={styles.row}
      style={{ top }}
      aria-level={depth + 1}
      aria-setsize={tree.siblings[place]}
      aria-posinset={tree.numbers[place]}
      aria-rowindex={row + 2}
      aria-selected={isActive}
      aria-expanded={isParent ? !isCollapsed : undefined}
      data-place={place}
      data-status={status}
      data-found={props.isFound || undefined}
      data-critical={props.isCritical || undefined}
    >
      <div
        role="gridcell"
        className={styles.name}
        style={{ paddingInlineStart: Math.min(depth, DEEPEST_SHOWN) * INDENT_PX + 4 }}
      >
        <span className={styles.toggle} aria-hidden="true" data-toggle={isParent || undefined}>
          {isParent ? (isCollapsed ? "▸" : "▾") : ""}
        </span>
        <Kind kind={kind} />
        <Marks {...props} status={status} />
        <span className={styles.words}>
          <SpanName kind={kind} name={shownNameAt(tree, place)} />
        </span>
        {isCollapsed && (
          <span className={styles.hidden}>+{shortCount((tree.ends[place] ?? 0) - place - 1)}</span>
        )}
      </div>
      <Bar tree={tree} place={place} zoom={props.zoom} />
      <div role="gridcell" className={styles.number}>
        {duration(tree.durations[place])}
      </div>
      {props.isWide && (
        <>
          <div role="gridcell" className={styles.tokens}>
            {tokens(tree, place)}
          </div>
          <div role="gridcell" className={styles.cost}>
            {tree.costs[place] == null ? "" : cost((tree.costs[place] ?? 0) / 1e9)}
          </div>
        </>
      )}
    </div>
  );
});

/** One element instead of the three of `KindMark`: scrolling the tree creates rows. */
function Kind({ kind }: { kind: string }) {
  return (
    <span role="img" aria-label={kind} title={kind} className={styles.kind} data-kind={kind}>
      {letterOf(kind)}
    </span>
  );
}

const SIGNS: Record<string, string> = {
  error: "✕",
  cancelled: "⊘",
  denied: "⊖",
  unfinished: "…",
};

/** What is notable about it, each as a symbol with its text. */
function Marks({ tree, place, slow, isCritical, isFound, status }: Props & { status: string }) {
  const marks: [kind: string, sign: string, words: string][] = [];
  const sign = SIGNS[status];
  if (sign !== undefined) marks.push([status, sign, status]);
  if (isFound) marks.push(["found", "⌕", "matches the search"]);
  if (slow > 0) marks.push(["slow", `▲${slow}`, `number ${slow} of the slowest by its own time`]);
  if (isCritical) marks.push(["critical", "◆", "on the critical path"]);
  if ((tree.flags[place] ?? 0) !== 0) {
    for (const [flag, mark, words] of ODD) {
      if (has(tree, place, flag)) marks.push(["odd", mark, words]);
    }
  }
  return marks.map(([kind, mark, words]) => (
    <span
      key={words}
      role="img"
      aria-label={words}
      title={words}
      className={styles.mark}
      data-kind={kind}
    >
      {mark}
    </span>
  ));
}

export const ODD: readonly (readonly [flag: number, sign: string, words: string])[] = [
  [FLAG.cycle, "↻", "This span is its own ancestor, so it is shown as a root"],
  [FLAG.missing, "?", "This parent was never recorded"],
  [FLAG.clockWentBack, "↶", "This span ended before it started, because its clock went backwards"],
  [
    FLAG.beforeParent,
    "⇤",
    "This span began before its parent, because their clocks differ. It is shown within its parent",
  ],
  [
    FLAG.uncounted,
    "⊂",
    "This span contains another model call, which counts the tokens and the cost",
  ],
  [FLAG.elsewhere, "≡", "Another span recorded the same call and counts the tokens and the cost"],
];

function Bar({ tree, place, zoom }: { tree: Tree; place: number; zoom: Zoom }) {
  const scale = 100 / ((zoom.to - zoom.from) * tree.total);
  const offset = zoom.from * tree.total;
  const start = tree.starts[place] ?? 0;
  const from = (start - offset) * scale;
  const to = ((tree.stops[place] ?? 0) - offset) * scale;
  const first = tree.firstTokens[place];
  const firstAt = first == null ? -1 : (start + first - offset) * scale;
  const left = Math.max(from, 0);
  const width = Math.min(to, 100) - left;
  return (
    <div role="gridcell" className={styles.track} aria-label={`from ${duration(start)}`}>
      {to < 0 || from > 100 ? (
        <span className={styles.away}>{to < 0 ? "◂" : ""}</span>
      ) : (
        <div
          className={styles.bar}
          data-kind={textAt(tree, tree.kinds, place)}
          data-open={has(tree, place, FLAG.unfinished) || undefined}
          style={{ left: `${left}%`, width: `${Math.max(width, 0)}%` }}
        />
      )}
      {firstAt >= 0 && firstAt <= 100 && (
        <div
          className={styles.first}
          style={{ left: `${firstAt}%` }}
          title={`first token after ${duration(first)}`}
        />
      )}
    </div>
  );
}

function tokens(tree: Tree, place: number): string {
  const given = tree.inputTokens[place];
  const made = tree.outputTokens[place];
  if (given == null && made == null) return "";
  return `${shortCount(given)} → ${shortCount(made)}`;
}
