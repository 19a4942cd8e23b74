// A file of a proposal: its change, whether it is still unchanged, and its hunks.
import type { ShownFile } from "../../api/schema";
import { Badge } from "../../components/Badge";
import { Button } from "../../components/Button";
import { visible } from "../../text/visible";
import { HunkView } from "./HunkView";
import styles from "./Proposals.module.css";
import { Lines } from "./ProposalsScreen";
import type { Hunks } from "./useHunks";

interface Props {
  file: ShownFile;
  isOpen: boolean;
  hunks: Hunks;
}

const WORDS: Record<string, string> = { create: "new file", delete: "deleted", rename: "renamed" };
const STALE: Record<string, string> = {
  changed: "changed since",
  gone: "no longer exists",
  "in the way": "another file exists at this path",
};

export function FileView({ file, isOpen, hunks }: Props) {
  const own = hunks.byFile.get(file.path) ?? [];
  const open = own.filter((hunk) => !hunk.isDenied);
  const isChosen = open.every((hunk) => hunks.selected.has(hunk.number));
  const chooseAll = () => {
    for (const hunk of open) hunks.select(hunk.number, !isChosen);
  };
  const stale = isOpen ? STALE[file.freshness] : undefined;
  return (
    <section className={styles.file} aria-label={file.path}>
      <header className={styles.fileHeader}>
        <h2>
          {visible(file.path)}
          {file.target && ` → ${visible(file.target)}`}
        </h2>
        {WORDS[file.kind] && <Badge>{WORDS[file.kind]}</Badge>}
        {stale && <Badge tone="warn">⚠ {stale}</Badge>}
        {file.undone && <Badge>undone</Badge>}
        <Lines added={file.added} removed={file.removed} />
        {isOpen && open.length > 1 && (
          <Button onPress={chooseAll}>{isChosen ? "Deselect file" : "Select file"}</Button>
        )}
      </header>
      {own.map((hunk) => (
        <HunkView
          key={hunk.number}
          ref={hunks.place(hunk.number)}
          hunk={hunk}
          path={file.target ?? file.path}
          isSelected={hunks.selected.has(hunk.number)}
          isCurrent={hunks.current === hunk.number}
          onSelect={isOpen ? hunks.select : null}
        />
      ))}
    </section>
  );
}
