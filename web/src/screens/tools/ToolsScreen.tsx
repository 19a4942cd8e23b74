// The tools of models: arguments, statistics, and a form to call each.
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import type { ListedTool, ToolCalls, ToolEffect } from "../../api/schema";
import { EmptyState, ErrorNotice, Loading } from "../../components/States";
import { FindField } from "../../components/table/FindField";
import { focusList, isBesideRows, isNearRows } from "../../components/table/rowFocus";
import { useMedia } from "../../components/useMedia";
import { count } from "../../format/numbers";
import { Screen } from "../../shell/Screen";
import { useShortcut } from "../../shortcuts/ShortcutProvider";
import { visible } from "../../text/visible";
import { useStatistics, useTools } from "./queries";
import { ToolDetail } from "./ToolDetail";
import styles from "./Tools.module.css";

const HERE = "Tools";
const NARROW = "(max-width: 48rem)";

interface Search {
  tool?: string;
  find?: string;
}

export function ToolsScreen() {
  const search: Search = useSearch({ strict: false });
  const found = useTools();
  const statistics = useStatistics();
  const isNarrow = useMedia(NARROW);
  const tools = found.data?.data ?? [];
  const listed = tools.filter((tool) => fits(tool, search.find));
  const shown = tools.find((tool) => tool.name === search.tool);
  const isListed = !isNarrow || !search.tool;
  useSteps(listed, search);
  return (
    <Screen title="Tools" about={tools.length > 0 ? count(tools.length) : undefined} fill>
      {found.isPending ? (
        <Loading what="the tools" lines={12} />
      ) : found.isError && tools.length === 0 ? (
        <ErrorNotice
          what="The tools could not be read"
          error={found.error}
          onRetry={() => void found.refetch()}
        />
      ) : (
        <div className={styles.columns}>
          {isListed && (
            <List tools={listed} search={search} statistics={statistics.data ?? new Map()} />
          )}
          {shown ? (
            <div className={styles.detail}>
              {isNarrow && (
                <Link to="/tools" search={search.find ? { find: search.find } : {}}>
                  ← All tools
                </Link>
              )}
              <ToolDetail key={shown.name} tool={shown} calls={statistics.data?.get(shown.name)} />
            </div>
          ) : !isNarrow || search.tool ? (
            <Nothing name={search.tool} />
          ) : null}
        </div>
      )}
    </Screen>
  );
}

function Nothing({ name }: { name: string | undefined }) {
  return (
    <EmptyState
      title={name ? `There is no tool named ${visible(name)}.` : "Choose a tool."}
      snippet="treadle tools list"
    >
      Each tool can be called here, over HTTP, over MCP, and from the terminal:
    </EmptyState>
  );
}

function fits(tool: ListedTool, find: string | undefined): boolean {
  const words = (find ?? "").toLowerCase();
  return tool.name.toLowerCase().includes(words) || tool.description.toLowerCase().includes(words);
}

const GROUPS: readonly { effect: ToolEffect; title: string }[] = [
  { effect: "read", title: "Read" },
  { effect: "write", title: "Write" },
  { effect: "ui", title: "Act on the page" },
  { effect: "spends", title: "Spend money" },
];

interface ListProps {
  tools: readonly ListedTool[];
  search: Search;
  statistics: ReadonlyMap<string, ToolCalls>;
}

function List({ tools, search, statistics }: ListProps) {
  const navigate = useNavigate();
  const find = (text: string) => {
    const kept = search.tool ? { tool: search.tool } : {};
    void navigate({ to: "/tools", search: text ? { ...kept, find: text } : kept, replace: true });
  };
  return (
    <nav className={styles.list} aria-label="Tools">
      <FindField label="Find a tool" where={HERE} value={search.find ?? ""} onChange={find} />
      {tools.length === 0 && <p className={styles.quiet}>No tool matches.</p>}
      {GROUPS.map(({ effect, title }) => {
        const group = tools.filter((tool) => tool.effect === effect);
        return (
          group.length > 0 && (
            <section key={effect} aria-label={title}>
              <h2 className={styles.group}>{title}</h2>
              <ul className={styles.names}>
                {group.map((tool) => (
                  <li key={tool.name} data-row>
                    <Link
                      to="/tools"
                      search={{ ...search, tool: tool.name }}
                      className={styles.name ?? ""}
                      data-chosen={tool.name === search.tool}
                    >
                      <span>{visible(tool.name)}</span>
                      <Calls calls={statistics.get(tool.name)} />
                    </Link>
                  </li>
                ))}
              </ul>
            </section>
          )
        );
      })}
    </nav>
  );
}

function Calls({ calls }: { calls: ToolCalls | undefined }) {
  if (!calls) return null;
  const failed = Object.values(calls.failures).reduce((sum, each) => sum + each, 0);
  return (
    <span className={styles.calls}>
      {failed > 0 && (
        <>
          <span className={styles.failed}>
            <span aria-hidden="true">✕ </span>
            {count(failed)}
            <span className="visually-hidden"> failed</span>
          </span>{" "}
          of{" "}
        </>
      )}
      {count(calls.calls)}
      <span className="visually-hidden"> calls</span>
    </span>
  );
}

/** j and k move through the listed tools. */
function useSteps(listed: readonly ListedTool[], search: Search): void {
  const navigate = useNavigate();
  const inOrder = GROUPS.flatMap(({ effect }) => listed.filter((tool) => tool.effect === effect));
  const step = (by: number) => {
    const at = inOrder.findIndex((tool) => tool.name === search.tool);
    const next = inOrder[Math.min(Math.max(at + by, 0), inOrder.length - 1)];
    if (!next) return;
    const shown = { ...search, tool: next.name };
    void navigate({ to: "/tools", search: shown, replace: true }).then(focusList);
  };
  useShortcut({ keys: "j", does: "Next tool", where: HERE }, () => step(1));
  useShortcut({ keys: "k", does: "Previous tool", where: HERE }, () => step(-1));
  const near = { where: HERE, when: isNearRows };
  useShortcut({ keys: "ArrowDown", does: "Next tool", ...near }, () => step(1));
  useShortcut({ keys: "ArrowUp", does: "Previous tool", ...near }, () => step(-1));
  const back = { does: "Back to the tools", where: HERE, inFields: true, when: isBesideRows };
  useShortcut({ keys: "Escape", ...back }, focusList);
}
