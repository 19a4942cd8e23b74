// Other branches at a point of a conversation, to choose one.
import { Menu } from "../../components/Menu";
import { ago } from "../../format/times";
import { cut, visible } from "../../text/visible";
import type { Fork } from "./branches";
import styles from "./Sessions.module.css";

const MOST = 60;

interface Props {
  forks: readonly Fork[];
  label: string;
  onChoose: (fork: Fork) => void;
  isDisabled: boolean;
}

export function Forks({ forks, label, onChoose, isDisabled }: Props) {
  if (forks.length === 0) return null;
  return (
    <div className={styles.forks}>
      <Menu
        label={`${label}: ${forks.length}`}
        actions={forks.map((fork) => ({
          id: String(fork.end),
          name: `${inShort(fork.text)} (${ago(fork.at_us)})`,
          run: () => onChoose(fork),
          isDisabled,
        }))}
      />
    </div>
  );
}

function inShort(text: string): string {
  const { shown, left } = cut(text.replace(/\s+/gu, " "), MOST);
  return visible(shown) + (left > 0 ? "…" : "");
}
