// Tables in Markdown, which the parser leaves as paragraphs: rows of cells between vertical bars.

interface Node {
  type: string;
  value?: string;
  children?: Node[];
  align?: (Align | null)[];
}

type Align = "left" | "right" | "center";

const BAR = "\uE000"; // an escaped bar, which does not end a cell
const RULE = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/u;

/** The text with its escaped bars replaced, as the plugin below expects it. */
export function withBarsKept(text: string): string {
  return text.replaceAll(BAR, "\uFFFD").replaceAll("\\|", BAR);
}

/** A plugin of remark. */
export function markdownTables() {
  return (tree: Node): void => transform(tree, false);
}

function transform(node: Node, inTable: boolean): void {
  if (node.value !== undefined) {
    const isCode = node.type === "code" || node.type === "inlineCode";
    node.value = node.value.replaceAll(BAR, isCode && !inTable ? "\\|" : "|");
  }
  if (!node.children) return;
  const isWithin = inTable || node.type === "table";
  node.children = node.children.flatMap((child) =>
    child.type === "paragraph" ? withTable(child) : [child],
  );
  for (const child of node.children) transform(child, isWithin);
}

/** A paragraph, or the table in it and the text before that. */
function withTable(paragraph: Node): Node[] {
  const lines = linesOf(paragraph.children ?? []);
  const rule = lines.findIndex((line, place) => place > 0 && RULE.test(plain(line) ?? ""));
  const header = lines[rule - 1];
  const ruled = plain(lines[rule] ?? []);
  if (!header || ruled === null || !ruled.includes("|")) return [paragraph];
  const align = cellsOf([{ type: "text", value: ruled }]).map((cell) => alignOf(plain(cell) ?? ""));
  if (cellsOf(header).length !== align.length) return [paragraph];
  const rows = [header, ...lines.slice(rule + 1)].map((line) => rowOf(line, align.length));
  const table: Node = { type: "table", align, children: rows };
  if (rule === 1) return [table];
  return [{ ...paragraph, children: joined(lines.slice(0, rule - 1)) }, table];
}

function rowOf(line: readonly Node[], width: number): Node {
  const cells = cellsOf(line).slice(0, width);
  while (cells.length < width) cells.push([]);
  const children = cells.map((cell): Node => ({ type: "tableCell", children: cell }));
  return { type: "tableRow", children };
}

/** The nodes of a paragraph by line. */
function linesOf(nodes: readonly Node[]): Node[][] {
  return split(nodes, /\r?\n/u);
}

function cellsOf(line: readonly Node[]): Node[][] {
  const cells = split(line, /\|/u);
  if (cells.length > 1 && isBlank(cells[0])) cells.shift();
  if (cells.length > 1 && isBlank(cells.at(-1))) cells.pop();
  return cells.map(trimmed);
}

function split(nodes: readonly Node[], at: RegExp): Node[][] {
  let last: Node[] = [];
  const parts = [last];
  for (const node of nodes) {
    const pieces = node.type === "text" ? (node.value ?? "").split(at) : null;
    if (!pieces) {
      last.push(node);
      continue;
    }
    for (const [place, value] of pieces.entries()) {
      if (place > 0) {
        last = [];
        parts.push(last);
      }
      if (value) last.push({ type: "text", value });
    }
  }
  return parts;
}

function joined(lines: readonly Node[][]): Node[] {
  return lines.flatMap((line, place) =>
    place === 0 ? line : [{ type: "text", value: "\n" }, ...line],
  );
}

/** The text of nodes that contain only text. */
function plain(nodes: readonly Node[]): string | null {
  return nodes.every((node) => node.type === "text")
    ? nodes.map((node) => node.value ?? "").join("")
    : null;
}

function isBlank(nodes: readonly Node[] | undefined): boolean {
  return nodes !== undefined && plain(nodes)?.trim() === "";
}

function trimmed(cell: readonly Node[]): Node[] {
  return cell.map((node, place) => {
    if (node.type !== "text") return node;
    let value = node.value ?? "";
    if (place === 0) value = value.trimStart();
    if (place === cell.length - 1) value = value.trimEnd();
    return { ...node, value };
  });
}

function alignOf(rule: string): Align | null {
  const [left, right] = [rule.startsWith(":"), rule.endsWith(":")];
  if (left && right) return "center";
  return right ? "right" : left ? "left" : null;
}
