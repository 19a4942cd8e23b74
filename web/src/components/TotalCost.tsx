// The known cost of a sum. Its title states how many calls are left out.
import { counted, totalCost } from "../format/numbers";

export function TotalCost({ sums }: { sums: { cost: number | null; unpriced: number } }) {
  const { unpriced } = sums;
  const title = unpriced > 0 ? `Without ${counted(unpriced, "call")} of unknown price` : undefined;
  return <span title={title}>{totalCost(sums)}</span>;
}
