// Where the price of a model comes from, or why there is none.
import { Facts } from "../../components/Section";
import { ErrorNotice, Loading } from "../../components/States";
import { cost, count } from "../../format/numbers";
import { visible } from "../../text/visible";
import { usePrice } from "./queries";

const FOUND_BY = {
  address: "the address of the provider",
  provider: "the name of the provider",
  model: "the name of the model only",
} as const;

export function HowFound({ model, provider }: { model: string; provider: string }) {
  const found = usePrice(model, provider);
  if (found.isPending) return <Loading what="the price" />;
  if (!found.data) {
    return (
      <ErrorNotice
        what="The price could not be read"
        error={found.error}
        onRetry={() => void found.refetch()}
      />
    );
  }
  const price = found.data;
  const { prices } = price;
  return (
    <>
      {price.reason && <p>{visible(price.reason)}</p>}
      <Facts
        facts={[
          ["Matched by", FOUND_BY[price.found_by]],
          ["Address", price.base_url && visible(price.base_url)],
          ["Price list", visible(price.price_list)],
          ["List entry", price.list_model && visible(`${price.list_provider}/${price.list_model}`)],
          ["Input", prices && `${cost(prices.input)} per million tokens`],
          ["Output", prices && `${cost(prices.output)} per million tokens`],
          ["Cached input", prices?.cached != null && `${cost(prices.cached)} per million tokens`],
          ["Each call", prices && prices.request > 0 && cost(prices.request)],
          ["Long inputs", prices?.stepped && "cost more"],
          ["Context", price.context_window !== null && `${count(price.context_window)} tokens`],
          ["Source page", visible(price.pages.join("\n"))],
          ["Source comment", price.comment && visible(price.comment)],
        ]}
      />
    </>
  );
}
