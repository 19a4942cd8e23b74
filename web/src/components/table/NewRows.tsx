// Reports new rows, and shows them on request.
import { useShortcut } from "../../shortcuts/ShortcutProvider";
import { Button } from "../Button";
import type { Waiting } from "./liveRows";

interface Props {
  what: string;
  waiting: Waiting;
  isHeld: boolean;
  onPutIn: () => void;
}

export function NewRows({ what, waiting, isHeld, onPutIn }: Props) {
  const where = `The list of ${what}`;
  useShortcut({ keys: "n", does: "Show the new rows", where }, onPutIn, isHeld);
  return (
    <div role="status" aria-live="polite">
      {isHeld && (
        <Button kind="primary" small keys="n" tip={`Show the new ${what}`} onPress={onPutIn}>
          {arrived(waiting)}
        </Button>
      )}
    </div>
  );
}

/** "12 new, 2 moved up". */
export function arrived({ added, moved }: Waiting): string {
  return [added > 0 ? `${added} new` : "", moved > 0 ? `${moved} moved up` : ""]
    .filter(Boolean)
    .join(", ");
}
