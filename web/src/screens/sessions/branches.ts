// A conversation as a tree: the turns of the current branch, and where others begin.
import type { Session } from "../../api/schema";

export type Saved = Session["messages"][number];
type SavedUser = Extract<Saved, { role: "user" }>;

export interface Fork {
  /** The last message of the branch, after which it continues. */
  end: number;
  /** Its first text. */
  text: string;
  at_us: number;
}

export interface BranchTurn {
  /** The person's message; null for messages before the first one. */
  question: SavedUser | null;
  messages: readonly Saved[];
  /** The number of its last message. */
  end: number;
  /** The message before it; null at the start. */
  before: number | null;
  /** Branches that begin at the same point. */
  others: readonly Fork[];
}

export interface Tree {
  turns: readonly BranchTurn[];
  /** Branches that continue after the end of the current one. */
  further: readonly Fork[];
}

export function treeOf(session: Session): Tree {
  const byNumber = new Map(session.messages.map((message) => [message.number, message]));
  const children = Map.groupBy(session.messages, (message) => message.parent);
  const used = new Set(session.branch);
  const forks = (parent: number | null): Fork[] =>
    (children.get(parent) ?? [])
      .filter((child) => !used.has(child.number))
      .map((child) => ({
        end: endOf(child, children),
        text: wordsOf(child),
        at_us: child.at_us,
      }));
  const branch = session.branch.flatMap((number) => byNumber.get(number) ?? []);
  const groups: Saved[][] = [];
  for (const message of branch) {
    if (begins(message) || groups.length === 0) groups.push([message]);
    else groups.at(-1)?.push(message);
  }
  const turns = groups.map((messages): BranchTurn => {
    const first = messages[0] as Saved;
    return {
      question: first.role === "user" ? first : null,
      messages,
      end: (messages.at(-1) ?? first).number,
      before: first.parent,
      others: messages.flatMap((message) => forks(message.parent)),
    };
  });
  const head = session.branch.at(-1);
  return { turns, further: head === undefined ? [] : forks(head) };
}

/** A message of a person that does not only steer a running turn. */
function begins(message: Saved): boolean {
  return message.role === "user" && !message.steers;
}

/** The end of the branch that continued last. */
function endOf(from: Saved, children: ReadonlyMap<number | null, readonly Saved[]>): number {
  let at = from;
  for (;;) {
    const next = children.get(at.number)?.at(-1);
    if (!next) return at.number;
    at = next;
  }
}

function wordsOf(message: Saved): string {
  const text = message.role === "tool" ? message.content : message.text;
  return text?.trim() || "(no text)";
}

/** The index in the branch of the unfinished last turn; null if the last turn has ended. */
export function openFrom(session: Session): number | null {
  const { turns } = treeOf(session);
  const last = turns.at(-1);
  if (last?.question?.stop_reason !== null || !last.question) return null;
  return session.branch.length - last.messages.length;
}
