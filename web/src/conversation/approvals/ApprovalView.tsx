// What a tool would do, and the possible answers; later the given answer.
import { useState } from "react";
import { Button } from "../../components/Button";
import { Code } from "../../components/Code";
import { JsonView } from "../../components/JsonView";
import { LongText } from "../../components/LongText";
import { ErrorNotice } from "../../components/States";
import { TextField } from "../../components/TextField";
import { visible } from "../../text/visible";
import type { Question } from "../turn/events";
import { isRecord, parsed } from "../turn/wording";
import styles from "./ApprovalView.module.css";
import { useAnswer, wasAnsweredHere } from "./useApprovals";

interface Props {
  question: Question;
  /** The given answer; null while it waits. */
  scope: string | null;
  words: string | null;
}

export function ApprovalView({ question, scope, words }: Props) {
  if (scope !== null) return <Answered id={question.approval_id} scope={scope} words={words} />;
  // The server's reading of the arguments: the model's own text may be ambiguous.
  const value = question.preview && !question.proposal_id ? parsed(question.preview) : null;
  const told = isRecord(value) ? value : null;
  return (
    <section className={styles.card} aria-label={`Permission for ${question.name}`}>
      <h3 className={styles.title}>
        <span aria-hidden="true">? </span>
        {question.proposal_id ? "Allow this change?" : "Allow this call?"}
      </h3>
      {/* The summary may be shortened: if all arguments are known, they are shown instead. */}
      <p className={styles.summary}>{visible(told ? question.name : question.summary)}</p>
      <p className={styles.reason}>{visible(question.reason)}</p>
      <Exactly question={question} told={told} />
      <Answers id={question.approval_id} />
    </section>
  );
}

const ANSWERS: Record<string, string> = {
  once: "Allowed once",
  session: "Allowed for this session",
  always: "Always allowed",
  denied: "Denied",
  withdrawn: "Expired without an answer",
};

function Answered({ id, scope, words }: { id: string; scope: string; words: string | null }) {
  const where = scope === "withdrawn" ? "" : wasAnsweredHere(id) ? " on this page" : " elsewhere";
  return (
    <p className={styles.answered}>
      {ANSWERS[scope] ?? scope}
      {where}
      {words && <>: “{visible(words)}”</>}
    </p>
  );
}

/** The proposed change, or the arguments: a person must know what they allow. */
function Exactly({ question, told }: { question: Question; told: Record<string, unknown> | null }) {
  if (told) return <JsonView value={told} openDepth={4} />;
  if (question.preview) {
    return <Code text={question.preview} language="diff" label="Proposed change" />;
  }
  if (question.subjects.length === 0) return null;
  return <LongText text={question.subjects.join("\n")} mono first={2_000} />;
}

function Answers({ id }: { id: string }) {
  const answer = useAnswer(id);
  const [denying, deny] = useState(false);
  const [words, setWords] = useState("");
  const isBusy = answer.isPending || answer.isSuccess;
  return (
    <>
      {denying ? (
        <form
          className={styles.denial}
          onSubmit={(event) => {
            event.preventDefault();
            answer.mutate({ scope: "denied", words });
          }}
        >
          <TextField
            label="Reason (sent to the model)"
            value={words}
            onChange={setWords}
            autoFocus
          />
          <div className={styles.answers}>
            <Button small kind="danger" type="submit" isDisabled={isBusy}>
              Deny
            </Button>
            <Button small kind="quiet" onPress={() => deny(false)} isDisabled={isBusy}>
              Back
            </Button>
          </div>
        </form>
      ) : (
        <div className={styles.answers}>
          <Button
            small
            kind="primary"
            isDisabled={isBusy}
            onPress={() => answer.mutate({ scope: "once" })}
          >
            Allow once
          </Button>
          <Button small isDisabled={isBusy} onPress={() => answer.mutate({ scope: "session" })}>
            Allow for this session
          </Button>
          <Button small isDisabled={isBusy} onPress={() => answer.mutate({ scope: "always" })}>
            Always allow
          </Button>
          <Button small kind="danger" isDisabled={isBusy} onPress={() => deny(true)}>
            Deny…
          </Button>
        </div>
      )}
      {answer.error && <ErrorNotice what="The answer was not accepted" error={answer.error} />}
    </>
  );
}
