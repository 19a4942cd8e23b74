// What to run: which variants, how often, with which models, and within which limits.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { getJson } from "../../api/client";
import { Button } from "../../components/Button";
import { Checkbox } from "../../components/Checkbox";
import { Dialog } from "../../components/Dialog";
import { Menu } from "../../components/Menu";
import { NumberField } from "../../components/NumberField";
import { ErrorNotice } from "../../components/States";
import { TextField } from "../../components/TextField";
import { count } from "../../format/numbers";
import { useShortcut } from "../../shortcuts/ShortcutProvider";
import type { Experiment, NewBatch } from "./queries";
import styles from "./RunDialog.module.css";
import type { Editing } from "./useDraft";

const REPEATS = 5;
const MOST_REPEATS = 100;
const SECONDS_EACH = 60;

interface Props {
  experiment: Experiment;
  editing: Editing;
  isOpen: boolean;
  onOpenChange: (open: boolean) => void;
  /** Starts the batch; throws the server's error. */
  onRun: (batch: NewBatch) => Promise<void>;
}

export function RunDialog(props: Props) {
  const { isOpen, onOpenChange } = props;
  return (
    <Dialog title="Run" isOpen={isOpen} onOpenChange={onOpenChange}>
      <Choices {...props} />
    </Dialog>
  );
}

function Choices({ experiment, editing, onOpenChange, onRun }: Props) {
  const saves = editing.changed;
  const newest = experiment.version + (saves ? 1 : 0);
  const [chosen, choose] = useState(() => new Set(newest === 0 ? [0] : [0, newest]));
  const [models, setModels] = useState("");
  const [repeats, setRepeats] = useState<number | null>(REPEATS);
  const [cost, setCost] = useState<number | null>(null);
  const [tokens, setTokens] = useState<number | null>(null);
  const [atOnce, setAtOnce] = useState<number | null>(1);
  const [seconds, setSeconds] = useState<number | null>(SECONDS_EACH);
  const [failed, setFailed] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const named = namesIn(models);
  const calls = experiment.items.length;
  const total = chosen.size * Math.max(1, named.length) * calls * (repeats ?? 0);
  const wrong = editing.problems.length > 0 || editing.draft.clash !== null;
  const isReady = total > 0 && !busy && !(saves && wrong);
  const run = async () => {
    if (!isReady) return;
    setBusy(true);
    setFailed(null);
    try {
      const versions = [...chosen].toSorted((one, other) => one - other);
      await onRun({
        repeats: repeats ?? REPEATS,
        variants: versions.map((version) => (version === 0 ? "original" : `v${version}`)),
        models: named,
        budget: { cost, tokens },
        at_once: atOnce ?? 1,
        seconds_each: seconds ?? SECONDS_EACH,
      });
      onOpenChange(false);
    } catch (error) {
      setFailed(error);
    } finally {
      setBusy(false);
    }
  };
  useShortcut(
    { keys: "Mod+Enter", does: "Start the runs", where: "Run", inFields: true },
    () => void run(),
  );
  return (
    <div className={styles.choices}>
      {saves && (
        <p className={styles.about}>
          {wrong
            ? "The unsaved changes are not valid. Correct the marked fields."
            : `The run first saves your changes as v${newest}.`}
        </p>
      )}
      <fieldset className={styles.group}>
        <legend>Variants</legend>
        {Array.from({ length: newest + 1 }, (_, version) => version).map((version) => (
          <Checkbox
            key={version}
            isSelected={chosen.has(version)}
            onChange={(selected) => choose(withMember(chosen, version, selected))}
          >
            {nameOf(experiment, version, newest)}
          </Checkbox>
        ))}
      </fieldset>
      <ModelsField value={models} onChange={setModels} />
      <div className={styles.numbers}>
        <NumberField
          label="Repeats"
          value={repeats}
          onChange={setRepeats}
          least={1}
          most={MOST_REPEATS}
          whole
          hint={(repeats ?? 0) < 5 && calls < 5 ? "A verdict needs 5 pairs." : ""}
        />
        <NumberField
          label="Parallel runs"
          value={atOnce}
          onChange={setAtOnce}
          least={1}
          most={16}
          whole
        />
        <NumberField
          label="Timeout (s)"
          value={seconds}
          onChange={setSeconds}
          least={1}
          most={3_600}
        />
        <NumberField
          label="Cost limit (USD)"
          value={cost}
          onChange={setCost}
          least={0}
          placeholder="no limit"
        />
        <NumberField
          label="Token limit"
          value={tokens}
          onChange={setTokens}
          least={1}
          whole
          placeholder="no limit"
        />
      </div>
      {failed !== null && <ErrorNotice what="The runs could not be started" error={failed} />}
      <div className={styles.end}>
        <span className={styles.about}>
          {count(total)} {total === 1 ? "run" : "runs"}. Each run calls the provider, which may
          charge for it.
        </span>
        <Button onPress={() => onOpenChange(false)}>Cancel</Button>
        <Button kind="primary" keys="Mod+Enter" isDisabled={!isReady} onPress={() => void run()}>
          {busy ? "Starting…" : "Run"}
        </Button>
      </div>
    </div>
  );
}

function nameOf(experiment: Experiment, version: number, newest: number): string {
  if (version === 0) return "original";
  const note = experiment.versions[version - 1]?.note;
  const about = version > experiment.version ? "your changes" : version === newest ? "current" : "";
  const told = [about, note].filter(Boolean).join(": ");
  return told ? `v${version} (${told})` : `v${version}`;
}

function withMember(set: ReadonlySet<number>, member: number, is: boolean): Set<number> {
  const copy = new Set(set);
  if (is) copy.add(member);
  else copy.delete(member);
  return copy;
}

export function namesIn(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter(Boolean))];
}

function ModelsField({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const known = useKnownModels();
  const free = known.filter((name) => !namesIn(value).includes(name));
  return (
    <div className={styles.models}>
      <TextField
        label="Override model"
        mono
        value={value}
        onChange={onChange}
        placeholder="Recorded model"
        hint="PROVIDER/MODEL, separated by commas. Each variant runs with each model."
      />
      {free.length > 0 && (
        <Menu
          label="Add"
          actions={free.map((name) => ({
            id: name,
            name,
            run: () => onChange([...namesIn(value), name].join(", ")),
          }))}
        />
      )}
    </div>
  );
}

const MOST_MODELS = 200;

/** The models of the gateway; empty if they are unknown. */
export function useKnownModels(): readonly string[] {
  const found = useQuery({
    queryKey: ["gateway", "models"],
    queryFn: ({ signal }) => getJson<{ data: { id: string }[] }>("/v1/models", signal),
    staleTime: 60_000,
    retry: false,
  });
  return found.data?.data.slice(0, MOST_MODELS).map((each) => each.id) ?? [];
}
