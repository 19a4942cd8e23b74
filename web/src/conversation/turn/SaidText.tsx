// What a model said: Markdown, or text with code snippets. Very long text stays plain text.
import { Markdown } from "../../components/Markdown";
import { TextWithSnippets } from "../../components/messages/SnippetView";

const MOST_MARKDOWN = 100_000;

export function SaidText({ text }: { text: string }) {
  const isPlain = text.length > MOST_MARKDOWN || text.includes('<code="');
  return isPlain ? <TextWithSnippets text={text} /> : <Markdown text={text} />;
}
