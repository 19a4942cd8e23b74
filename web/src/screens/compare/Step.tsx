// One step of both sides: its figures, and the differences of its texts.
import { Link } from "@tanstack/react-router";
import { type CSSProperties, type ReactNode, useMemo, useState } from "react";
import type { ComparedSpan, ComparedStep, TextChange } from "../../api/schema";
import { KindMark, StatusBadge } from "../../components/Badge";
import { Button } from "../../components/Button";
import { cost, duration } from "../../format/numbers";
import { visible } from "../../text/visible";
import { inAndOut } from "../traces/figures";
import styles from "./Compare.module.css";
import { type Block, blocksOf, type Part } from "./hunks";
import { isEqual, nameOfText } from "./steps";
import { spanLink } from "./subjects";

const DEEPEST = 12;
const FEW_LINES = 14;
const FEW_CHARACTERS = 1_200;

export function Step({ step }: { step: ComparedStep }) {
  const { kind, name, a, b } = step;
  const indent = { "--depth": Math.min(step.depth, DEEPEST) } as CSSProperties;
  return (
    <article className={styles.step} data-equal={isEqual(step)} aria-label={titleOf(step)}>
      <header className={styles.title} style={indent}>
        <KindMark kind={kind} />
        <span className={styles.stepName}>{visible(name)}</span>
        {a === null && <span className={styles.only}>only in B</span>}
        {b === null && <span className={styles.only}>only in A</span>}
      </header>
      <div className={styles.sides}>
        <Span step={step} span={a} />
        <Span step={step} span={b} />
      </div>
      {step.texts.map((text) => (
        <Text key={text.aspect} step={step} text={text} />
      ))}
    </article>
  );
}

function titleOf({ kind, name, a, b, changes }: ComparedStep): string {
  const side = a === null ? ", only in B" : b === null ? ", only in A" : "";
  const differs = changes.length > 0 ? `, differs in ${changes.join(", ")}` : "";
  return `${kind} ${visible(name)}${side}${differs}`;
}

function Span({ step, span }: { step: ComparedStep; span: ComparedSpan | null }) {
  if (span === null) return <div className={styles.none}>–</div>;
  const { changes } = step;
  const texts = step.texts.map((text) => text.aspect);
  const hasDiff = texts.includes(step.kind === "tool" ? "input" : "output");
  const facts: [string, ReactNode, boolean][] = [
    ["status", <StatusBadge key="status" status={span.status} quiet />, changes.includes("status")],
    ["model", span.model && <code>{visible(span.model)}</code>, changes.includes("model")],
    ["duration", duration(span.duration_us), false],
    [
      "tokens",
      span.tokens.input !== null || span.tokens.output !== null
        ? `${inAndOut(span.tokens)} tokens`
        : null,
      changes.includes("tokens"),
    ],
    ["cost", span.cost === null ? null : cost(span.cost), changes.includes("cost")],
  ];
  return (
    <div className={styles.span}>
      <div className={styles.facts}>
        {facts.map(([name, value, differs]) =>
          value === null ? null : differs ? (
            <mark key={name} className={styles.mark}>
              {value}
            </mark>
          ) : (
            <span key={name}>{value}</span>
          ),
        )}
        <Link {...spanLink(span.trace_id, span.span_id)} className={styles.open}>
          Open<span className="visually-hidden"> this span</span>
        </Link>
      </div>
      {span.error && (
        <p className={styles.error}>
          {changes.includes("error") ? (
            <mark className={styles.mark}>{visible(span.error.slice(0, 500))}</mark>
          ) : (
            visible(span.error.slice(0, 500))
          )}
        </p>
      )}
      {!hasDiff && span.excerpt && <p className={styles.excerpt}>{visible(span.excerpt)}</p>}
    </div>
  );
}

function Text({ step, text }: { step: ComparedStep; text: TextChange }) {
  const [isOpen, setOpen] = useState(false);
  const blocks = useMemo(() => blocksOf(text.lines), [text.lines]);
  const size = text.lines.reduce((sum, line) => sum + line.length, 0);
  const isLong = text.lines.length > FEW_LINES || size > FEW_CHARACTERS;
  const name = nameOfText(step, text.aspect);
  return (
    <section className={styles.text} aria-label={`${name}, differences`}>
      <h3>{name}</h3>
      <div className={styles.blocks} data-closed={isLong && !isOpen}>
        {blocks.map((block, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the index identifies a block
          <Pair key={place} block={block} />
        ))}
      </div>
      {isLong && (
        <Button small kind="quiet" aria-expanded={isOpen} onPress={() => setOpen(!isOpen)}>
          {isOpen ? "Show less" : "Show the whole difference"}
        </Button>
      )}
      {text.cut && (isOpen || !isLong) && (
        <p className={styles.note}>
          The text is too long to show every difference. Open the spans to read it.
        </p>
      )}
    </section>
  );
}

function Pair({ block }: { block: Block }) {
  if (block.kind === "gap") return <div className={styles.gap}>Equal lines are not shown.</div>;
  return (
    <div className={styles.sides}>
      <div className={styles.words} dir="auto">
        <Words parts={block.a} as="del" />
      </div>
      <div className={styles.words} dir="auto">
        <Words parts={block.b} as="ins" />
      </div>
    </div>
  );
}

function Words({ parts, as: Mark }: { parts: readonly Part[]; as: "del" | "ins" }) {
  return parts.map((part, place) =>
    part.differs ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: the index identifies a part
      <Mark key={place} className={styles.mark}>
        {visible(part.text)}
      </Mark>
    ) : (
      visible(part.text)
    ),
  );
}
