// The proposals of a session as links, waiting ones first.
import { useNavigate } from "@tanstack/react-router";
import { Menu } from "../../components/Menu";
import { visible } from "../../text/visible";
import { useProposalsOf } from "./queries";

export function ProposalsOf({ id }: { id: string }) {
  const found = useProposalsOf(id);
  const navigate = useNavigate();
  const proposals = found.data ?? [];
  if (proposals.length === 0) return null;
  const waiting = proposals.filter((each) => each.state === "staged").length;
  const label = waiting > 0 ? `Proposals: ${waiting} staged` : `Proposals: ${proposals.length}`;
  return (
    <Menu
      label={label}
      actions={proposals.map((each) => ({
        id: each.id,
        name: `${visible(each.summary)} (${each.state})`,
        run: () => void navigate({ to: "/proposals/$proposalId", params: { proposalId: each.id } }),
      }))}
    />
  );
}
