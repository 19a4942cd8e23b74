// Keeps a growing list scrolled to its end, unless the person has scrolled away. An answer that is
// higher than the box is shown from its start, since it begins with its summary.
import { type RefObject, useCallback, useEffect, useState } from "react";

const NEAR_PX = 48;

export function useStickToEnd(
  box: RefObject<HTMLElement | null>,
  content: RefObject<HTMLElement | null>,
) {
  const [isAtEnd, setAtEnd] = useState(true);
  const toEnd = useCallback(() => {
    box.current?.scrollTo({ top: box.current.scrollHeight });
    setAtEnd(true);
  }, [box]);
  useEffect(() => {
    const scrolled = box.current;
    if (!scrolled) return;
    const look = () => {
      setAtEnd(scrolled.scrollHeight - scrolled.scrollTop - scrolled.clientHeight < NEAR_PX);
    };
    scrolled.addEventListener("scroll", look, { passive: true });
    return () => scrolled.removeEventListener("scroll", look);
  }, [box]);
  useEffect(() => {
    if (!isAtEnd || !content.current) return;
    const growing = new ResizeObserver(() => {
      const answer = longAnswer(box.current, content.current);
      if (answer) answer.scrollIntoView({ block: "start" });
      else toEnd();
    });
    growing.observe(content.current);
    return () => growing.disconnect();
  }, [isAtEnd, box, content, toEnd]);
  return { isAtEnd, toEnd };
}

/** The answer of the last turn, if it is higher than the box. */
function longAnswer(box: HTMLElement | null, content: HTMLElement | null): Element | null {
  const answer = content?.lastElementChild?.querySelector("[data-answer]") ?? null;
  return box && answer && answer.clientHeight > box.clientHeight ? answer : null;
}
