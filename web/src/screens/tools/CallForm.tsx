// The form to call a tool, or its arguments as JSON, and the result of the call.
import { useMemo, useState } from "react";
import { ApiError } from "../../api/client";
import type { ListedTool } from "../../api/schema";
import { Button } from "../../components/Button";
import { CopyButton } from "../../components/CopyButton";
import { isObject } from "../../components/messages/chat";
import { ResultView } from "../../components/messages/ResultView";
import { ErrorNotice } from "../../components/States";
import { TextField } from "../../components/TextField";
import { ApprovalView } from "../../conversation/approvals/ApprovalView";
import { useWaiting } from "../../conversation/approvals/useApprovals";
import { milliseconds } from "../../format/numbers";
import { useShortcut } from "../../shortcuts/ShortcutProvider";
import { asCommand, asCurl } from "./commands";
import { argumentsOf, type Draft, draftOf, emptyDraft, type Problems } from "./form/draft";
import { type Field, type Json, membersOf } from "./form/fields";
import { SchemaForm } from "./form/SchemaForm";
import { useCall } from "./queries";
import styles from "./Tools.module.css";

type Drafts = { [name: string]: Draft };

export function CallForm({ tool }: { tool: ListedTool }) {
  const field = useMemo<Extract<Field, { kind: "object" }>>(
    () => ({ kind: "object", members: membersOf(tool.parameters) }),
    [tool.parameters],
  );
  const [draft, setDraft] = useState<Drafts>(() => emptyDraft(field) as Drafts);
  const [typed, setTyped] = useState<string | null>(null);
  const [isTried, setTried] = useState(false);
  const call = useCall(tool.name);
  const given = useGiven(field, draft, typed);
  const isGood = Object.keys(given.problems).length === 0;
  const wanted = () => {
    setTried(true);
    if (isGood && !call.isPending) call.mutate(given.value);
  };
  useShortcut({ keys: "Mod+Enter", does: "Call the tool", where: "Tools", inFields: true }, wanted);
  const problems = { ...(isTried ? given.problems : {}), ...toldBy(call.error) };
  return (
    <div className={styles.call}>
      {typed === null ? (
        <SchemaForm members={field.members} draft={draft} onChange={setDraft} problems={problems} />
      ) : (
        <TextField
          label="Arguments as JSON"
          value={typed}
          onChange={setTyped}
          mono
          rows={12}
          problem={given.problems[""] ?? Object.values(toldBy(call.error))[0]}
        />
      )}
      <div className={styles.actions}>
        <Button kind="primary" keys="Mod+Enter" isDisabled={call.isPending} onPress={wanted}>
          {call.isPending ? "Running…" : tool.effect === "write" ? "Call…" : "Call"}
        </Button>
        <Switch
          field={field}
          typed={typed}
          value={given.value}
          onTyped={setTyped}
          onDraft={setDraft}
        />
        <CopyButton
          label="Copy as curl"
          text={() => asCurl(location.origin, tool.name, given.value)}
        />
        <CopyButton label="Copy as command" text={() => asCommand(tool.name, given.value)} />
      </div>
      {call.isPending && <Asked name={tool.name} />}
      <Outcome call={call} />
    </div>
  );
}

/** The entered arguments, in either form. */
function useGiven(field: Field, draft: Drafts, typed: string | null) {
  return useMemo((): { value: Json; problems: Problems } => {
    if (typed === null) return argumentsOf(field, draft);
    try {
      const value = JSON.parse(typed) as Json;
      return { value, problems: isObject(value) ? {} : { "": "Arguments must be a JSON object." } };
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      return { value: {}, problems: { "": `This is not JSON: ${why}` } };
    }
  }, [field, draft, typed]);
}

interface SwitchProps {
  field: Field;
  typed: string | null;
  value: Json;
  onTyped: (text: string | null) => void;
  onDraft: (draft: Drafts) => void;
}

/** Converts between form and JSON, as far as the form can represent it. */
function Switch({ field, typed, value, onTyped, onDraft }: SwitchProps) {
  if (typed === null) {
    return (
      <Button small onPress={() => onTyped(JSON.stringify(value, null, 2))}>
        Enter as JSON
      </Button>
    );
  }
  const draft = draftOf(field, value);
  return (
    <Button
      small
      isDisabled={draft === undefined}
      onPress={() => {
        onDraft(draft as Drafts);
        onTyped(null);
      }}
    >
      Enter in the form
    </Button>
  );
}

/** The server's error about an argument, at its field. */
function toldBy(error: unknown): Problems {
  if (!(error instanceof ApiError) || !isObject(error.body)) return {};
  const { field } = error.body;
  return typeof field === "string" ? { [field]: error.message } : {};
}

/** A call that changes something waits for a person, who is asked here. */
function Asked({ name }: { name: string }) {
  const waiting = useWaiting().filter((question) => question.name === name);
  return waiting.map((question) => (
    <ApprovalView key={question.approval_id} question={question} scope={null} words={null} />
  ));
}

function Outcome({ call }: { call: ReturnType<typeof useCall> }) {
  if (call.error) return <ErrorNotice what="The tool failed" error={call.error} />;
  if (!call.data) return null;
  return (
    <section className={styles.result} aria-label="Result">
      <h3>Result, in {milliseconds(call.data.took)}</h3>
      <ResultView text={JSON.stringify(call.data.result)} />
    </section>
  );
}
