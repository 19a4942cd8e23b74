// A held call: its request as messages or editable text, and the decision.
import { useEffect, useMemo, useState } from "react";
import type { HeldCall, HeldSummary } from "../../api/schema";
import { Button } from "../../components/Button";
import { Code } from "../../components/Code";
import { isObject, parsed } from "../../components/messages/chat";
import { Section } from "../../components/Section";
import { ErrorNotice, Loading } from "../../components/States";
import { Tabs } from "../../components/Tabs";
import { TextField } from "../../components/TextField";
import { useKeptText } from "../../components/useKeptText";
import { indented } from "../../text/indented";
import { visible } from "../../text/visible";
import styles from "./Breakpoints.module.css";
import { Countdown } from "./Countdown";
import { DecideBar } from "./DecideBar";
import { HeldAnswer } from "./HeldAnswer";
import { HeldRequest } from "./HeldRequest";
import { HeldBadge } from "./HeldTable";
import { isWaiting, useHeldCall } from "./queries";

interface Props {
  id: string;
  /** The row of the list, which is refreshed regularly. */
  listed: HeldSummary | undefined;
  onClose: () => void;
}

export function HeldDetail({ id, listed, onClose }: Props) {
  const found = useHeldCall(id, listed?.state);
  const call = found.data;
  const state = listed?.state ?? call?.state;
  return (
    <Section
      title={call ? `Held: ${visible(call.model) || call.operation}` : "Held call"}
      about={
        call &&
        state && (
          <span className={styles.about}>
            <HeldBadge state={state} />
            {state === "waiting" && <Countdown held={call} />}
          </span>
        )
      }
      actions={
        <Button kind="quiet" small keys="Escape" aria-label="Close the held call" onPress={onClose}>
          ✕
        </Button>
      }
    >
      {call ? (
        <Call call={{ ...call, ...(listed ?? {}) }} />
      ) : found.isError ? (
        <ErrorNotice
          what="The held call could not be read"
          error={found.error}
          onRetry={() => void found.refetch()}
        />
      ) : (
        <Loading what="the held call" />
      )}
    </Section>
  );
}

type Tab = "messages" | "edit";

function Call({ call }: { call: HeldCall }) {
  const [tab, setTab] = useState<Tab>("messages");
  const original = useMemo(() => pretty(call.body), [call.body]);
  const [typed, setTyped] = useKeptText(`held ${call.id}`);
  const waits = isWaiting(call);
  useEffect(() => {
    if (!waits) setTyped(null); // it can no longer be sent
  }, [waits, setTyped]);
  const text = typed ?? original;
  const isEdited = typed !== null && typed !== original;
  const problem = useMemo(() => problemOf(text), [text]);
  return (
    <div className={styles.detail}>
      {waits ? (
        <DecideBar id={call.id} body={isEdited ? text : null} problem={problem} />
      ) : (
        <HeldAnswer call={call} />
      )}
      <Tabs<Tab>
        label="The request"
        value={tab}
        onChange={setTab}
        tabs={[
          { id: "messages", name: "Messages", content: <HeldRequest text={text} /> },
          {
            id: "edit",
            name: waits ? (isEdited ? "Edit •" : "Edit") : "JSON",
            content: waits ? (
              <div className={styles.edit}>
                <TextField
                  label="The request as sent"
                  value={text}
                  onChange={setTyped}
                  mono
                  rows={18}
                  problem={problem}
                />
                {isEdited && (
                  <Button small onPress={() => setTyped(null)}>
                    Discard my changes
                  </Button>
                )}
              </div>
            ) : (
              <Code text={original} language="json" label="Request" />
            ),
          },
        ]}
      />
    </div>
  );
}

/** JSON with line breaks; other text unchanged. */
function pretty(text: string): string {
  return parsed(text) === undefined ? text : indented(text);
}

function problemOf(text: string): string | null {
  try {
    return isObject(JSON.parse(text)) ? null : "A request is a JSON object.";
  } catch (error) {
    return `This is not JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
}
