// The part of Markdown that is loaded on first use.
import { Link } from "@tanstack/react-router";
import { isValidElement, memo, type ReactNode } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import { visible } from "../text/visible";
import { Code } from "./Code";
import styles from "./Markdown.module.css";
import { markdownTables, withBarsKept } from "./markdownTables";

const MOST = 200_000;
const PLUGINS = [markdownTables];

const COMPONENTS: Components = {
  a: ({ href, children }) => <Anchor href={href ?? ""}>{children}</Anchor>,
  img: ({ alt, src }) => (
    <span className={styles.picture}>
      [picture{alt ? `: ${alt}` : ""}
      {typeof src === "string" ? ` at ${src.slice(0, 200)}` : ""}]
    </span>
  ),
  pre: ({ children }) => <Fence>{children}</Fence>,
};

export const RenderedMarkdown = memo(({ text }: { text: string }) => (
  <div className={styles.markdown} dir="auto">
    <ReactMarkdown components={COMPONENTS} remarkPlugins={PLUGINS} urlTransform={(url) => url}>
      {withBarsKept(visible(text.slice(0, MOST)))}
    </ReactMarkdown>
  </div>
));

/** A link within the page. Other links stay text, with their address to read and copy. */
function Anchor({ href, children }: { href: string; children: ReactNode }) {
  if (/^\/(?![/\\])/.test(href)) {
    const [path = "/", query = ""] = href.split("#")[0]?.split("?") ?? [];
    const search = Object.fromEntries(new URLSearchParams(query));
    return (
      <Link to={path} search={search as never}>
        {children}
      </Link>
    );
  }
  return (
    <span>
      {children} <span className={styles.address}>({href})</span>
    </span>
  );
}

function Fence({ children }: { children: ReactNode }) {
  const code = isValidElement<{ className?: string; children?: unknown }>(children)
    ? children.props
    : null;
  const language = code?.className?.replace("language-", "");
  return <Code text={String(code?.children ?? "").replace(/\n$/, "")} language={language} />;
}
