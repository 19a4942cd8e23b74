// The versions of the request: the changes of each, and a way to restore it.
import { useMemo } from "react";
import { Badge } from "../../components/Badge";
import { Button } from "../../components/Button";
import { useNotices } from "../../components/Notices";
import { EmptyState } from "../../components/States";
import { TextDiff } from "../../components/TextDiff";
import { exactMoment, moment } from "../../format/times";
import { visible } from "../../text/visible";
import styles from "./HistoryPanel.module.css";
import { type Experiment, useSave } from "./queries";
import type { Json } from "./request/json";
import { type Difference, differences, requestAt, wayBack } from "./request/versions";
import { asVersioned, type Editing } from "./useDraft";

const MOST = 20;
const LONGEST = 2_000;

interface Props {
  experiment: Experiment;
  item: number;
  editing: Editing;
  onCompare: (version: number) => void;
}

export function HistoryPanel({ experiment, item, editing, onCompare }: Props) {
  const saving = useSave(experiment.id);
  const { tell } = useNotices();
  if (experiment.versions.length === 0) {
    return (
      <EmptyState title="No changes yet">
        Change the request and save it. Each save is a version that you can compare, run and
        restore.
      </EmptyState>
    );
  }
  const restore = async (version: number, patch: object) => {
    const note = version === 0 ? "Restore the original" : `Restore v${version}`;
    try {
      const saved = await saving.mutateAsync({ patch, note });
      tell({ kind: "good", text: `Restored as version ${saved.version}.` });
    } catch (error) {
      tell({ kind: "bad", text: error instanceof Error ? error.message : String(error) });
    }
  };
  return (
    <ol className={styles.versions} reversed>
      {experiment.versions.toReversed().map((version) => (
        <li key={version.number} className={styles.version}>
          <header className={styles.head}>
            <strong>v{version.number}</strong>
            {version.number === experiment.version && <Badge tone="accent">current</Badge>}
            {version.note && <span>{visible(version.note)}</span>}
            <time title={exactMoment(version.at_us)} className={styles.time}>
              {moment(version.at_us)}
            </time>
            <span className={styles.actions}>
              <Button small onPress={() => onCompare(version.number)}>
                Compare
              </Button>
              <Restore
                experiment={experiment}
                version={version.number}
                changed={editing.changed}
                onRestore={restore}
              />
            </span>
          </header>
          <Changed experiment={experiment} item={item} version={version.number} />
        </li>
      ))}
      <li className={styles.version}>
        <header className={styles.head}>
          <strong>original</strong>
          <span className={styles.time}>as recorded</span>
          <span className={styles.actions}>
            <Button small onPress={() => onCompare(0)}>
              Compare
            </Button>
            <Restore
              experiment={experiment}
              version={0}
              changed={editing.changed}
              onRestore={restore}
            />
          </span>
        </header>
      </li>
    </ol>
  );
}

interface RestoreProps {
  experiment: Experiment;
  version: number;
  changed: boolean;
  onRestore: (version: number, patch: object) => Promise<void>;
}

function Restore({ experiment, version, changed, onRestore }: RestoreProps) {
  const patch = useMemo(() => wayBack(asVersioned(experiment), version), [experiment, version]);
  if (version === experiment.version) return null;
  if (patch === null) {
    return (
      <span className={styles.time}>
        Each call needs a different change, so this version cannot be restored. Run{" "}
        {version ? `v${version}` : "the original"} instead.
      </span>
    );
  }
  if (Object.keys(patch).length === 0)
    return <span className={styles.time}>same as the current version</span>;
  if (changed) {
    return <span className={styles.time}>To restore it, save or discard your changes first.</span>;
  }
  return (
    <Button
      small
      onPress={() => void onRestore(version, patch)}
      aria-label={version ? `Restore v${version}` : "Restore the original"}
    >
      Restore
    </Button>
  );
}

function Changed({
  experiment,
  item,
  version,
}: {
  experiment: Experiment;
  item: number;
  version: number;
}) {
  const found = useMemo(() => {
    const versioned = asVersioned(experiment);
    return differences(
      requestAt(versioned, item, version - 1),
      requestAt(versioned, item, version),
    );
  }, [experiment, item, version]);
  if (found.length === 0) return <p className={styles.time}>No changes in this call</p>;
  return (
    <dl className={styles.changes}>
      {found.slice(0, MOST).map((each) => (
        <div key={each.path} className={styles.change}>
          <dt>
            <code>{visible(each.path)}</code>
          </dt>
          <dd>
            <OneChange difference={each} />
          </dd>
        </div>
      ))}
      {found.length > MOST && <p className={styles.time}>and {found.length - MOST} more</p>}
    </dl>
  );
}

function OneChange({ difference }: { difference: Difference }) {
  const { before, after } = difference;
  if (isProse(before) || isProse(after)) {
    return <TextDiff before={textOf(before)} after={textOf(after)} />;
  }
  const values = [before, after].map((each) => visible(textOf(each).slice(0, LONGEST)) || "–");
  return <span className={styles.values}>{values.join(" → ")}</span>;
}

/** For a name, such as a model's, the two names say more than their difference. */
function isProse(value: Json | undefined): boolean {
  return typeof value === "string" && /\s/.test(value.trim());
}

function textOf(value: Json | undefined): string {
  if (value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
