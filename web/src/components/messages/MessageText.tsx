// The text of a message: Markdown is rendered, and a long text is folded. The text as it was recorded
// is one click away.
import { useState } from "react";
import { count } from "../../format/numbers";
import { cut } from "../../text/visible";
import { Button } from "../Button";
import { LongText } from "../LongText";
import { Markdown } from "../Markdown";
import styles from "./Messages.module.css";
import { isMarkdown } from "./markdown";
import { TextWithSnippets } from "./SnippetView";

const FOLDED = 1_500;
const LONG = 2_000;

export function MessageText({ text }: { text: string }) {
  const [isOpen, open] = useState(false);
  const [isPlain, choosePlain] = useState(false);
  if (text.includes('<code="')) return <TextWithSnippets text={text} />;
  const isLong = text.length > LONG;
  const { shown } = isLong && !isOpen ? cut(text, FOLDED) : { shown: text };
  const isRendered = isMarkdown(text);
  return (
    <div className={styles.text}>
      {isRendered && !isPlain ? <Markdown text={shown} /> : <LongText text={shown} />}
      {(isLong || isRendered) && (
        <div className={styles.choices}>
          {isLong && (
            <Button small aria-expanded={isOpen} onPress={() => open(!isOpen)}>
              {isOpen ? "Show less" : `Show all ${count(text.length)} characters`}
            </Button>
          )}
          {isRendered && (
            <Button kind="quiet" small aria-pressed={isPlain} onPress={() => choosePlain(!isPlain)}>
              As recorded
            </Button>
          )}
        </div>
      )}
    </div>
  );
}
