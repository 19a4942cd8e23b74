// One provider: its configuration, its API key, and a test of whether it answers.
import { useState } from "react";
import type { ProviderInfo } from "../../api/schema";
import { Badge } from "../../components/Badge";
import { Button } from "../../components/Button";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { Facts } from "../../components/Section";
import { ErrorNotice } from "../../components/States";
import { milliseconds } from "../../format/numbers";
import { visible } from "../../text/visible";
import { originWords } from "../settings/origins";
import { KeyDialog } from "./KeyDialog";
import styles from "./Models.module.css";
import { useKey, useTest } from "./queries";

export function ProviderView({ provider }: { provider: ProviderInfo }) {
  const { name, key } = provider;
  const test = useTest(name);
  const keys = useKey(name);
  const [asking, ask] = useState<"enter" | "delete" | null>(null);
  const isAsked = key.state !== "none" || !key.wanted;
  return (
    <section className={styles.provider} aria-label={name}>
      <header className={styles.header}>
        <h3>{visible(name)}</h3>
        {provider.default && <Badge tone="accent">default</Badge>}
        <KeyBadge provider={provider} />
        <div className={styles.actions}>
          {key.enterable && (
            <Button small onPress={() => ask("enter")}>
              {key.kept ? "Replace the key…" : "Enter a key…"}
            </Button>
          )}
          {key.kept && (
            <Button small kind="danger" onPress={() => ask("delete")}>
              Delete the key…
            </Button>
          )}
          <Button
            small
            isDisabled={test.isPending || !isAsked}
            onPress={() => test.mutate(null)}
            aria-label={`Test ${name}`}
          >
            {test.isPending ? "Testing…" : "Test"}
          </Button>
        </div>
      </header>
      <Facts
        facts={[
          ["Address", provider.base_url ? visible(provider.base_url) : "runs within the server"],
          [
            "Configured",
            provider.origin.layer === "default" ? "built in" : originWords(provider.origin),
          ],
          ["Configured models", visible(provider.models.join(", "))],
          [
            "Saved key",
            key.kept_for && `for ${visible(key.kept_for)}, so it is not used for this address`,
          ],
        ]}
      />
      <Outcome test={test} />
      <KeyDialog name={name} isOpen={asking === "enter"} keys={keys} onClose={() => ask(null)} />
      <ConfirmDialog
        title={`Delete the key of ${name}?`}
        isOpen={asking === "delete"}
        onClose={() => ask(null)}
        act="Delete"
        onAct={() => keys.mutate("delete", { onSuccess: () => ask(null) })}
        isBusy={keys.isPending}
        error={keys.error}
      >
        <p>To use the provider again, enter its API key again. A key in the environment is kept.</p>
      </ConfirmDialog>
    </section>
  );
}

function KeyBadge({ provider: { key } }: { provider: ProviderInfo }) {
  switch (key.state) {
    case "environment":
      return <Badge tone="good">✓ key from {visible(key.name ?? "the environment")}</Badge>;
    case "keyring":
      return <Badge tone="good">✓ key in the keyring</Badge>;
    case "stored":
      return <Badge tone="good">✓ key saved by Treadle</Badge>;
    case "none":
      return key.wanted ? (
        <Badge tone="warn">! no key{key.name ? ` in ${visible(key.name)}` : ""}</Badge>
      ) : (
        <Badge>needs no key</Badge>
      );
  }
}

function Outcome({ test }: { test: ReturnType<typeof useTest> }) {
  if (test.error) return <ErrorNotice what="The provider could not be tested" error={test.error} />;
  const outcome = test.data;
  if (!outcome) return null;
  if (outcome.error) {
    return (
      <ErrorNotice what={`${outcome.provider} did not answer correctly`} error={outcome.error} />
    );
  }
  return (
    <p className={styles.outcome} role="status">
      <Badge tone={outcome.reachable ? "good" : "bad"}>
        {outcome.reachable ? "✓ answers" : "✕ does not answer"}
      </Badge>
      {outcome.latency !== null && <span>in {milliseconds(outcome.latency * 1_000)}</span>}
      {outcome.model && <code>{visible(outcome.model)}</code>}
      <span>{outcome.tool_call ? "calls tools" : "did not call the requested tool"}</span>
    </p>
  );
}
