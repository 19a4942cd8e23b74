// The query field, with suggestions and errors.
import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { count } from "../../format/numbers";
import { useShortcut } from "../../shortcuts/ShortcutProvider";
import { focusList } from "../table/rowFocus";
import styles from "./QueryBar.module.css";
import { QueryProblem } from "./QueryProblem";
import { useParsed } from "./queryText";
import { namesFor, type Suggestion, useQueryFields, useValues } from "./suggestions";
import { completed, type Writing, writingAt } from "./typing";

const PAUSE_MS = 400; // milliseconds of typing, after which the list updates

interface Props {
  /** The kind of the rows: "threads". */
  what: string;
  text: string;
  onText: (text: string) => void;
}

export function QueryBar({ what, text, onText }: Props) {
  const field = useRef<HTMLInputElement>(null);
  const { draft, write, finish } = useDraft(text, onText);
  const [caret, setCaret] = useState(0);
  const [isOpen, open] = useState(false);
  const [active, setActive] = useState(-1);
  const writing = writingAt(draft, caret);
  const { suggestions, isLoading } = useSuggestions(draft, writing, isOpen);
  const problem = useParsed(text)?.problem ?? null;
  const id = useId();
  useShortcut({ keys: "/", does: "Write a query", where: "Lists" }, () => field.current?.focus());

  const become = (next: string, place: number) => {
    write(next);
    setCaret(place);
    setActive(-1);
    open(true);
  };
  const choose = (suggestion: Suggestion) => {
    const done = completed(draft, writing, suggestion.put);
    become(done.text, done.caret);
    requestAnimationFrame(() => field.current?.setSelectionRange(done.caret, done.caret));
  };
  const shown = isOpen && suggestions.length > 0;
  const chosen = shown ? suggestions[active] : undefined;
  const press = (event: KeyboardEvent) => {
    const does = keyActions({ shown, chosen, count: suggestions.length, active })[event.key];
    if (does === undefined || event.nativeEvent.isComposing) return;
    event.preventDefault();
    if (does === "choose" && chosen) choose(chosen);
    else if (does === "rows") {
      finish();
      open(false);
      focusList();
    } else if (typeof does === "number") setActive(does);
  };
  return (
    <div className={styles.bar}>
      <input
        ref={field}
        className={styles.input}
        role="combobox"
        type="text"
        spellCheck={false}
        autoComplete="off"
        autoCapitalize="off"
        placeholder={`Search ${what}: words, or terms such as status:error  ( / )`}
        aria-label={`Query of ${what}`}
        aria-expanded={shown}
        aria-controls={`${id}list`}
        aria-autocomplete="list"
        aria-activedescendant={chosen ? `${id}${active}` : undefined}
        aria-invalid={problem !== null}
        aria-describedby={problem && !shown ? `${id}problem` : undefined}
        value={draft}
        onChange={(event) => become(event.target.value, event.target.selectionStart ?? 0)}
        onSelect={(event) => setCaret(event.currentTarget.selectionStart ?? 0)}
        onFocus={() => open(true)}
        onBlur={() => {
          open(false);
          finish();
        }}
        onKeyDown={press}
      />
      {shown && (
        <Suggestions id={id} all={suggestions} active={active} busy={isLoading} onChoose={choose} />
      )}
      {problem && !shown && <QueryProblem id={`${id}problem`} text={text} problem={problem} />}
    </div>
  );
}

type Does = "choose" | "rows" | number;

/**
 * What each key does. A number makes that suggestion active, -1 none. "rows" applies the query and
 * moves the focus to the list.
 */
function keyActions(now: {
  shown: boolean;
  chosen: Suggestion | undefined;
  count: number;
  active: number;
}): Record<string, Does | undefined> {
  const { shown, chosen, count: all, active } = now;
  if (!shown) return { ArrowDown: "rows", Enter: "rows", Escape: "rows" };
  return {
    ArrowDown: active + 1 < all ? active + 1 : "rows",
    ArrowUp: active >= 0 ? active - 1 : all - 1,
    Escape: "rows",
    Enter: chosen ? "choose" : "rows",
    Tab: chosen ? "choose" : undefined,
  };
}

/**
 * The typed text before it applies: after a pause, with Enter, or when the field loses the focus.
 */
function useDraft(text: string, onText: (text: string) => void) {
  const [draft, setDraft] = useState(text);
  const [seen, setSeen] = useState(text);
  if (seen !== text) {
    // The text was changed elsewhere, or equals the typed text.
    setSeen(text);
    if (draft.trim() !== text) setDraft(text);
  }
  const finish = () => {
    if (draft.trim() !== text) onText(draft);
  };
  const newest = useRef(finish);
  useEffect(() => {
    newest.current = finish;
  });
  useEffect(() => {
    if (draft.trim() === text) return;
    const timer = setTimeout(() => newest.current(), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [draft, text]);
  return { draft, write: setDraft, finish };
}

function useSuggestions(text: string, writing: Writing, isOpen: boolean) {
  const fields = useQueryFields();
  const { values, isLoading } = useValues(fields, text, writing, isOpen);
  const suggestions = writing.what === "name" ? namesFor(fields, writing.begun) : values;
  return { suggestions, isLoading };
}

interface ListProps {
  id: string;
  all: readonly Suggestion[];
  active: number;
  busy: boolean;
  onChoose: (suggestion: Suggestion) => void;
}

function Suggestions({ id, all, active, busy, onChoose }: ListProps) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.children[active]?.scrollIntoView({ block: "nearest" });
  }, [active]);
  return (
    <div
      ref={list}
      id={`${id}list`}
      role="listbox"
      aria-label="Suggestions"
      aria-busy={busy}
      className={styles.list}
    >
      {all.map((each, at) => (
        // biome-ignore lint/a11y/useFocusableInteractive: the field has the focus and names the option
        // biome-ignore lint/a11y/useKeyWithClickEvents: Enter in the field chooses the active option
        <div
          key={each.id}
          id={`${id}${at}`}
          role="option"
          aria-selected={at === active}
          className={styles.option}
          // The field keeps the focus.
          onPointerDown={(event) => event.preventDefault()}
          onClick={() => onChoose(each)}
        >
          <code>{each.shown}</code>
          <span className={styles.about}>{each.about}</span>
          {each.count !== null && <span className={styles.count}>{count(each.count)}</span>}
        </div>
      ))}
    </div>
  );
}
