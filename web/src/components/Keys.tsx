// Keyboard keys.
import { shownKeys } from "../shortcuts/keys";

export function Keys({ keys }: { keys: string }) {
  return (
    <>
      {shownKeys(keys).map((key) => (
        <kbd key={key}>{key}</kbd>
      ))}
    </>
  );
}
