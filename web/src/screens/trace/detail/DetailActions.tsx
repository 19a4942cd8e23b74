// The actions on a span: copy in several forms, open as an experiment.
import { useNavigate } from "@tanstack/react-router";
import { getJson } from "../../../api/client";
import type { RecordedRequest, Span } from "../../../api/schema";
import { Button } from "../../../components/Button";
import { Menu } from "../../../components/Menu";
import { useNotices } from "../../../components/Notices";
import { useShortcut } from "../../../shortcuts/ShortcutProvider";
import { asCurl, asPython, type Call } from "./copying";
import styles from "./Detail.module.css";

/** In a list of rows that can be selected, the key selects the row. */
const isNoList = (target: Element) => target.closest("[data-selectable=true]") === null;

export function DetailActions({ span }: { span: Span }) {
  const navigate = useNavigate();
  const copy = useCopy();
  const isCall = span.kind === "model";
  const open = () =>
    void navigate({
      to: "/experiments/new",
      search: { trace: span.trace_id, span: span.span_id },
    });
  useShortcut(
    { keys: "x", does: "Open as experiment", where: "Trace", when: isNoList },
    open,
    isCall,
  );
  const call = (write: (call: Call) => string) => async () => {
    const address = `/api/v1/requests/${idsOf(span)}`;
    const recorded = await getJson<RecordedRequest>(address);
    return write({ server: location.origin, body: recorded.body });
  };
  const link = `${location.origin}/traces/${encodeURIComponent(span.trace_id)}?span=${encodeURIComponent(span.span_id)}`;
  return (
    <div className={styles.actions}>
      {isCall && (
        <Button
          small
          kind="primary"
          keys="x"
          tip="Change this call and run it again"
          onPress={open}
        >
          Open as experiment
        </Button>
      )}
      <Menu
        label="Copy"
        actions={[
          ...(isCall
            ? [
                { id: "curl", name: "As curl", run: () => copy(call(asCurl)) },
                { id: "python", name: "As Python", run: () => copy(call(asPython)) },
              ]
            : []),
          { id: "link", name: "Link to this span", run: () => copy(() => link) },
          { id: "span", name: "Span id", run: () => copy(() => span.span_id) },
          { id: "trace", name: "Trace id", run: () => copy(() => span.trace_id) },
        ]}
      />
    </div>
  );
}

function idsOf(span: Span): string {
  return `${encodeURIComponent(span.trace_id)}/${encodeURIComponent(span.span_id)}`;
}

function useCopy() {
  const { tell } = useNotices();
  return (text: () => string | Promise<string>) =>
    void (async () => {
      try {
        await navigator.clipboard.writeText(await text());
        tell({ kind: "good", text: "Copied." });
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        tell({ kind: "bad", text: `It could not be copied. ${why}` });
      }
    })();
}
