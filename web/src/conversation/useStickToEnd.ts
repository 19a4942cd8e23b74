// Keeps a growing list scrolled to its end, unless the person has scrolled away.
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
    const growing = new ResizeObserver(toEnd);
    growing.observe(content.current);
    return () => growing.disconnect();
  }, [isAtEnd, content, toEnd]);
  return { isAtEnd, toEnd };
}
