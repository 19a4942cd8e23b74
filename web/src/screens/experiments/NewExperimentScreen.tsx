// A preview of an experiment with a recorded call, and the button that creates it.
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { client, getJson, ok } from "../../api/client";
import type { ListedRunnable } from "../../api/schema";
import { Button } from "../../components/Button";
import { EmptyState, ErrorNotice, Loading } from "../../components/States";
import { TextField } from "../../components/TextField";
import { Screen } from "../../shell/Screen";
import { useShortcut } from "../../shortcuts/ShortcutProvider";
import { visible } from "../../text/visible";
import styles from "./NewExperimentScreen.module.css";

const TITLE = "New experiment";

export function NewExperimentScreen() {
  const { trace, span } = useSearch({ from: "/experiments/new" });
  if (!trace) {
    return (
      <Screen title={TITLE}>
        <EmptyState title="No call selected" snippet="treadle experiment new LAST">
          Open a model call in a trace and press <kbd>x</kbd>; or create an experiment from the
          newest call in the terminal.
        </EmptyState>
      </Screen>
    );
  }
  return <Asked reference={span ? `${trace}/${span}` : trace} trace={trace} span={span} />;
}

function Asked({
  reference,
  trace,
  span,
}: {
  reference: string;
  trace: string;
  span: string | undefined;
}) {
  const found = useQuery({
    queryKey: ["experiment", "valid", reference],
    queryFn: ({ signal }) =>
      getJson<ListedRunnable>(
        `/api/v1/runnable/${encodeURIComponent(trace)}/${encodeURIComponent(span ?? "")}`,
        signal,
      ),
    enabled: span !== undefined,
  });
  const back = (
    <Link to="/traces/$traceId" params={{ traceId: trace }} search={span ? { span } : {}}>
      Back to the call
    </Link>
  );
  const valid = span === undefined ? null : found.data;
  return (
    <Screen title={TITLE} about={back}>
      {span !== undefined && found.isPending ? (
        <Loading what="the call" lines={3} />
      ) : found.isError ? (
        <ErrorNotice
          what="The call could not be read"
          error={found.error}
          onRetry={() => void found.refetch()}
        />
      ) : valid && !valid.readable ? (
        <EmptyState title="This call cannot be run again" action={back}>
          {visible(valid.reason)}
        </EmptyState>
      ) : (
        <Form
          reference={reference}
          what={valid?.operation ?? "the last model call of the trace"}
          about={valid?.reason ?? ""}
        />
      )}
    </Screen>
  );
}

function Form({ reference, what, about }: { reference: string; what: string; about: string }) {
  const [name, setName] = useState("");
  const navigate = useNavigate();
  const making = useMutation({
    mutationFn: () =>
      ok(client.POST("/api/v1/experiments", { body: { spans: [reference], name, limit: 1 } })),
    onSuccess: (made) =>
      navigate({
        to: "/experiments/$experimentId",
        params: { experimentId: made.id },
        replace: true,
      }),
  });
  const make = () => {
    if (!making.isPending) making.mutate();
  };
  useShortcut(
    { keys: "Mod+Enter", does: "Create the experiment", where: TITLE, inFields: true },
    make,
  );
  return (
    <form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault();
        make();
      }}
    >
      <h2>
        Experiment with <code>{visible(what)}</code>
      </h2>
      <p className={styles.about}>{visible(about)}</p>
      <p className={styles.about}>
        The experiment keeps a copy of the call. Change its messages, model, tools or parameters,
        then run both versions.
      </p>
      <TextField
        label="Name"
        value={name}
        onChange={setName}
        autoFocus
        placeholder="default: the model and the question"
      />
      {making.isError && (
        <ErrorNotice what="The experiment could not be created" error={making.error} />
      )}
      <div>
        <Button kind="primary" type="submit" keys="Mod+Enter" isDisabled={making.isPending}>
          {making.isPending ? "Creating…" : "Create experiment"}
        </Button>
      </div>
    </form>
  );
}
