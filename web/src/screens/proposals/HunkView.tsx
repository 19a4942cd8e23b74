// One hunk in colour: old and new side by side, or one below the other on a narrow page.
import { memo, type Ref, useMemo, useState } from "react";
import { Badge } from "../../components/Badge";
import { Button } from "../../components/Button";
import { Checkbox } from "../../components/Checkbox";
import { type Piece, Pieces, useColours } from "../../components/Code";
import { useMedia } from "../../components/useMedia";
import { count } from "../../format/numbers";
import { visible } from "../../text/visible";
import { type Hunk, inOneColumn, type Line, type Row } from "./hunks";
import styles from "./Proposals.module.css";
import { Lines } from "./ProposalsScreen";

const FIRST_ROWS = 300;
const NARROW = "(max-width: 900px)";

interface Props {
  hunk: Hunk;
  /** The name of its file, which determines the language. */
  path: string;
  isSelected: boolean;
  isCurrent: boolean;
  /** Null: it can no longer be decided. */
  onSelect: ((number: number, isSelected: boolean) => void) | null;
  ref: Ref<HTMLElement>;
}

export const HunkView = memo((props: Props) => {
  const { hunk, path, isSelected, isCurrent, onSelect, ref } = props;
  return (
    <section
      ref={ref}
      tabIndex={-1}
      className={styles.hunk}
      data-current={isCurrent}
      aria-label={`Hunk ${hunk.number}`}
    >
      <header className={styles.hunkHeader}>
        {onSelect && !hunk.isDenied ? (
          <Checkbox isSelected={isSelected} onChange={(on) => onSelect(hunk.number, on)}>
            Hunk {hunk.number}
          </Checkbox>
        ) : (
          <span>Hunk {hunk.number}</span>
        )}
        {hunk.isDenied && <Badge tone="warn">⊘ denied</Badge>}
        <Lines added={hunk.added} removed={hunk.removed} />
      </header>
      <Rows rows={hunk.rows} path={path} />
    </section>
  );
});

function Rows({ rows, path }: { rows: readonly Row[]; path: string }) {
  const isNarrow = useMedia(NARROW);
  const [most, setMost] = useState(FIRST_ROWS);
  const shown = useMemo(() => (isNarrow ? inOneColumn(rows) : rows), [isNarrow, rows]);
  const before = useSide(rows, "before", path);
  const after = useSide(rows, "after", path);
  const left = shown.length - most;
  return (
    <>
      <div className={styles.rows} data-one={isNarrow} dir="ltr">
        {shown.slice(0, most).map((row, at) =>
          isNarrow ? (
            // biome-ignore lint/suspicious/noArrayIndexKey: the index identifies a row
            <One key={at} row={row} before={before} after={after} />
          ) : (
            // biome-ignore lint/suspicious/noArrayIndexKey: the index identifies a row
            <Both key={at} row={row} before={before} after={after} />
          ),
        )}
      </div>
      {left > 0 && (
        <div className={styles.moreRows}>
          <Button small onPress={() => setMost(most * 4)}>
            Show more ({count(left)} lines left)
          </Button>
        </div>
      )}
    </>
  );
}

type Colours = ReadonlyMap<Line, readonly Piece[]>;

/** The lines of one side in colour, as soon as that is available. */
function useSide(rows: readonly Row[], side: "before" | "after", path: string): Colours {
  const lines = useMemo(() => rows.flatMap((row) => row[side] ?? []), [rows, side]);
  const text = useMemo(() => lines.map((line) => visible(line.text)).join("\n"), [lines]);
  const coloured = useColours(text, path);
  return useMemo(
    () =>
      new Map(lines.map((line, at) => [line, coloured?.[at] ?? [{ content: visible(line.text) }]])),
    [lines, coloured],
  );
}

interface RowProps {
  row: Row;
  before: Colours;
  after: Colours;
}

function Both({ row, before, after }: RowProps) {
  return (
    <>
      <Side line={row.before} kind={row.mark === " " ? " " : "-"} colours={before} />
      <Side line={row.after} kind={row.mark === " " ? " " : "+"} colours={after} />
    </>
  );
}

function One({ row, before, after }: RowProps) {
  if (row.mark === "-") return <Side line={row.before} kind="-" colours={before} />;
  return <Side line={row.after} kind={row.mark === "+" ? "+" : " "} colours={after} />;
}

interface SideProps {
  line: Line | null;
  kind: " " | "-" | "+";
  colours: Colours;
}

function Side({ line, kind, colours }: SideProps) {
  const shownKind = line === null ? "none" : kind;
  return (
    <>
      <span className={styles.number} data-kind={shownKind}>
        {line?.number}
      </span>
      <span className={styles.line} data-kind={shownKind}>
        {line && (
          <>
            <span className={styles.mark}>{kind}</span>
            <Pieces pieces={colours.get(line) ?? []} />
            {line.unended && (
              <span className={styles.unended}> (no newline at the end of the file)</span>
            )}
          </>
        )}
      </span>
    </>
  );
}
