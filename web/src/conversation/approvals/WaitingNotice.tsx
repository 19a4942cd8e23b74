// Reports on every screen that a call waits for permission, and lets a person answer.
import { lazy, Suspense, useState } from "react";
import { Dialog } from "../../components/Dialog";
import { useShortcut } from "../../shortcuts/ShortcutProvider";
import { useWaiting } from "./useApprovals";
import styles from "./WaitingNotice.module.css";

const ApprovalView = lazy(() =>
  import("./ApprovalView").then((module) => ({ default: module.ApprovalView })),
);

export function WaitingNotice() {
  const waiting = useWaiting();
  const [isOpen, open] = useState(false);
  const count = waiting.length;
  useShortcut(
    { keys: "w", does: "Answer pending approvals", where: "Everywhere" },
    () => open(true),
    count > 0,
  );
  return (
    <>
      <div role="status" aria-live="polite">
        {count > 0 && (
          <button type="button" className={styles.badge} onClick={() => open(true)}>
            <span aria-hidden="true">? </span>
            {count === 1 ? "1 call needs approval" : `${count} calls need approval`}
          </button>
        )}
      </div>
      <Dialog title="Pending approvals" isOpen={isOpen && count > 0} onOpenChange={open}>
        <Suspense>
          {waiting.map((question) => (
            <ApprovalView
              key={question.approval_id}
              question={question}
              scope={null}
              words={null}
            />
          ))}
        </Suspense>
      </Dialog>
    </>
  );
}
