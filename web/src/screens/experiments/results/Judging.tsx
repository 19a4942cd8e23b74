// Lets a model evaluate the outputs of a batch, by criteria that a person writes.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { client, ok } from "../../../api/client";
import { Button } from "../../../components/Button";
import { Menu } from "../../../components/Menu";
import { ErrorNotice } from "../../../components/States";
import { TextField } from "../../../components/TextField";
import { count } from "../../../format/numbers";
import { type Batch, keys } from "../queries";
import { useKnownModels } from "../RunDialog";
import styles from "./Results.module.css";

interface Props {
  experimentId: string;
  batch: Batch;
  base: string;
}

export function Judging({ experimentId, batch, base }: Props) {
  const [open, show] = useState(false);
  const [model, setModel] = useState("");
  const [criteria, setCriteria] = useState("");
  const known = useKnownModels();
  const queries = useQueryClient();
  const judging = useMutation({
    mutationFn: () =>
      ok(
        client.POST("/api/v1/experiments/{reference}/batches/{batch_reference}/judge", {
          params: { path: { reference: experimentId, batch_reference: batch.id } },
          body: {
            model: model.trim(),
            base,
            ...(criteria.trim() ? { criteria: criteria.trim() } : {}),
          } as never,
        }),
      ),
    onSuccess: () => queries.invalidateQueries({ queryKey: keys.batch(experimentId, batch.id) }),
  });
  if (!open) {
    return (
      <div>
        <Button small onPress={() => show(true)}>
          Evaluate outputs with a model…
        </Button>
      </div>
    );
  }
  const others = batch.variants.length - 1;
  const pairs = others * (batch.progress.total / batch.variants.length);
  return (
    <section className={styles.judging} aria-label="Evaluation">
      <div className={styles.line}>
        <div className={styles.grow}>
          <TextField
            label="Evaluation model"
            mono
            value={model}
            onChange={setModel}
            placeholder="PROVIDER/MODEL"
          />
        </div>
        {known.length > 0 && (
          <Menu
            label="Choose"
            actions={known.map((name) => ({ id: name, name, run: () => setModel(name) }))}
          />
        )}
      </div>
      <TextField
        label="Criteria"
        rows={2}
        value={criteria}
        onChange={setCriteria}
        placeholder="The correct answer that helps the person more."
        hint={`The model compares each of up to ${count(pairs)} pairs twice, with the outputs swapped. Each comparison is a provider call, which may cost money.`}
      />
      {judging.isError && (
        <ErrorNotice what="The outputs could not be evaluated" error={judging.error} />
      )}
      <div className={styles.line}>
        <Button
          small
          kind="primary"
          isDisabled={!model.trim() || judging.isPending}
          onPress={() => judging.mutate()}
        >
          {judging.isPending ? "Evaluating…" : "Evaluate"}
        </Button>
        <Button small onPress={() => show(false)}>
          Close
        </Button>
      </div>
    </section>
  );
}
