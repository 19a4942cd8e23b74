// What redaction has removed, and a preview of a new pattern.
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { RedactionPreview } from "../../api/schema";
import { Button } from "../../components/Button";
import { Facts, Section } from "../../components/Section";
import { Snippet } from "../../components/Snippet";
import { ErrorNotice, Loading } from "../../components/States";
import { TextField } from "../../components/TextField";
import { count } from "../../format/numbers";
import { visible } from "../../text/visible";
import { type Tried, useHealth, useRedactionPreview } from "./queries";
import styles from "./Settings.module.css";

const LIMIT = 1_000;

export function RedactionPart() {
  const health = useHealth();
  const kinds = Object.entries(health.data?.traces.redactions ?? {});
  return (
    <>
      <Section title="Redacted before storing">
        {health.isPending ? (
          <Loading what="the counts" lines={3} />
        ) : !health.data ? (
          <ErrorNotice
            what="The counts could not be read"
            error={health.error}
            onRetry={() => void health.refetch()}
          />
        ) : kinds.length === 0 ? (
          <p>No secrets were found since the server started.</p>
        ) : (
          <Facts facts={kinds.map(([kind, times]) => [kind, count(times)])} />
        )}
      </Section>
      <Preview />
    </>
  );
}

function Preview() {
  const [pattern, setPattern] = useState("");
  const [tried, tryOut] = useState<Tried | null>(null);
  const found = useRedactionPreview(tried);
  return (
    <Section title="Preview a pattern">
      <form
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault();
          if (pattern) tryOut({ pattern, limit: LIMIT });
        }}
      >
        <TextField
          label="Pattern"
          value={pattern}
          onChange={setPattern}
          mono
          placeholder="CUST-[0-9]{6}"
          hint={`A regular expression in RE2 syntax, run on the newest ${count(LIMIT)} spans`}
        />
        <Button type="submit" isDisabled={!pattern || found.isFetching}>
          Preview
        </Button>
      </form>
      {found.error && <ErrorNotice what="The pattern could not be run" error={found.error} />}
      {found.data && tried && <Found preview={found.data} pattern={tried.pattern} />}
    </Section>
  );
}

function Found({ preview, pattern }: { preview: RedactionPreview; pattern: string }) {
  return (
    <>
      <p role="status">
        The pattern matches {count(preview.found)} times, in {count(preview.changed)} of{" "}
        {count(preview.spans)} spans. Nothing was changed.
      </p>
      {preview.examples.length > 0 && (
        <ul className={styles.examples} aria-label="Examples">
          {preview.examples.map((each, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the index identifies an example
            <li key={at}>
              <span className={styles.quiet}>{visible(each.field)}</span>
              <code>
                {visible(each.before)}
                <mark className={styles.masked}>{visible(each.masked)}</mark>
                {visible(each.after)}
              </code>
              <Link
                to="/traces/$traceId"
                params={{ traceId: each.trace_id }}
                search={{ span: each.span_id }}
              >
                span
              </Link>
            </li>
          ))}
        </ul>
      )}
      <p>To redact matches in new spans, add this to your configuration:</p>
      <Snippet text={`[traces.redaction.rules.mine]\npattern = ${JSON.stringify(pattern)}`} />
    </>
  );
}
