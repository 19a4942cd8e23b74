// The retention of traces: the limits, the current size, and a preview of other limits.
import { type ReactNode, useState } from "react";
import type { HeldTraces } from "../../api/schema";
import { Button } from "../../components/Button";
import { Facts, Section } from "../../components/Section";
import { Snippet } from "../../components/Snippet";
import { ErrorNotice, Loading } from "../../components/States";
import { TextField } from "../../components/TextField";
import { bytes, count } from "../../format/numbers";
import { exactMoment, moment } from "../../format/times";
import { type Limits, useRetention, useRetentionPreview } from "./queries";
import styles from "./Settings.module.css";

export function RetentionPart() {
  const found = useRetention();
  return (
    <>
      <Section title="Retention">
        {found.isPending ? (
          <Loading what="the retention settings" lines={4} />
        ) : !found.data ? (
          <ErrorNotice
            what="The retention settings could not be read"
            error={found.error}
            onRetry={() => void found.refetch()}
          />
        ) : (
          <Facts
            facts={[
              ["Maximum age", found.data.keep ?? "no time limit"],
              ["Maximum size", found.data.max_size ?? "no size limit"],
              ["Stored", <Amount key="now" held={found.data.held} />],
              ["Next pruning deletes", <Amount key="due" held={found.data.due} />],
            ]}
          />
        )}
      </Section>
      <Preview />
    </>
  );
}

function Preview() {
  const [keep, setKeep] = useState("30d");
  const [size, setSize] = useState("");
  const [asked, ask] = useState<Limits | null>(null);
  const found = useRetentionPreview(asked);
  const limits = limitsOf(keep, size);
  return (
    <Section title="Preview other limits">
      <form
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault();
          ask(limits);
        }}
      >
        <TextField
          label="Maximum age"
          value={keep}
          onChange={setKeep}
          placeholder="no limit"
          hint="For example 12h or 30d"
        />
        <TextField
          label="Maximum size"
          value={size}
          onChange={setSize}
          placeholder="no limit"
          hint="For example 500MB or 2GB"
        />
        <Button type="submit" isDisabled={found.isFetching}>
          Preview
        </Button>
      </form>
      {found.error && <ErrorNotice what="The preview failed" error={found.error} />}
      {found.data && !found.error && (
        <>
          <p role="status">
            These limits would delete <Amount held={found.data.deleted} />. Nothing was changed.
          </p>
          <p>To set them, add this to your configuration and restart the server:</p>
          <Snippet text={snippetOf(found.data.keep, found.data.max_size)} />
        </>
      )}
    </Section>
  );
}

function limitsOf(keep: string, size: string): Limits {
  return {
    ...(keep.trim() ? { keep: keep.trim() } : {}),
    ...(size.trim() ? { max_size: size.trim() } : {}),
  };
}

function snippetOf(keep: string | null, size: string | null): string {
  const lines = [...(keep ? [`keep = "${keep}"`] : []), ...(size ? [`max_size = "${size}"`] : [])];
  return ["[traces]", ...lines].join("\n");
}

function Amount({ held }: { held: HeldTraces }): ReactNode {
  if (held.spans === 0) return "nothing";
  return (
    <>
      {count(held.spans)} spans in {count(held.traces)} traces of {count(held.runs)} runs, about{" "}
      {bytes(held.bytes)}
      {held.oldest_us !== null && (
        <>
          , from <time title={exactMoment(held.oldest_us)}>{moment(held.oldest_us)}</time> to{" "}
          <time title={exactMoment(held.newest_us)}>{moment(held.newest_us)}</time>
        </>
      )}
    </>
  );
}
