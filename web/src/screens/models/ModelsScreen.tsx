// The providers, whether they answer, and the prices of their models.

import { Section } from "../../components/Section";
import { EmptyState, ErrorNotice, Loading } from "../../components/States";
import { useRowKeys } from "../../components/table/rowFocus";
import { Screen } from "../../shell/Screen";
import { visible } from "../../text/visible";
import styles from "./Models.module.css";
import { ModelTable } from "./ModelTable";
import { ProviderView } from "./ProviderView";
import { useModels, useProviders } from "./queries";

export function ModelsScreen() {
  useRowKeys("models");
  return (
    <Screen title="Models">
      <Providers />
      <Models />
    </Screen>
  );
}

function Providers() {
  const found = useProviders();
  const list = found.data;
  return (
    <Section
      title="Providers"
      about={
        list?.default_model && (
          <>
            Default model: <code>{visible(list.default_model)}</code>
          </>
        )
      }
    >
      {list?.error && <ErrorNotice what="There is no default model" error={list.error} />}
      {found.isPending ? (
        <Loading what="the providers" />
      ) : !list ? (
        <ErrorNotice
          what="The providers could not be read"
          error={found.error}
          onRetry={() => void found.refetch()}
        />
      ) : (
        <div className={styles.providers}>
          {list.data.map((provider) => (
            <ProviderView key={provider.name} provider={provider} />
          ))}
        </div>
      )}
    </Section>
  );
}

function Models() {
  const found = useModels();
  const providers = found.data?.data ?? [];
  const rows = providers.flatMap(({ provider, models }) =>
    models.map((model) => ({ ...model, provider })),
  );
  const silent = providers.filter((each) => !each.reachable && each.error);
  return (
    <Section
      title="Models"
      about={found.data && `Prices per million tokens, from ${found.data.price_list}`}
      flush
    >
      {found.isPending ? (
        <Loading what="the models of all providers" />
      ) : !found.data ? (
        <ErrorNotice
          what="The models could not be read"
          error={found.error}
          onRetry={() => void found.refetch()}
        />
      ) : rows.length === 0 ? (
        <EmptyState title="No provider lists a model." snippet={`export OPENAI_API_KEY="…"`}>
          Enter an API key above, or set the environment variable of the provider and restart the
          server.
        </EmptyState>
      ) : (
        <ModelTable rows={rows} />
      )}
      {silent.map((each) => (
        <p key={each.provider} className={styles.silent}>
          {visible(each.provider)}: {visible(each.error ?? "")}
        </p>
      ))}
    </Section>
  );
}
