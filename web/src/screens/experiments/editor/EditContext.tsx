// What every field of the request's form knows: what is wrong, and where to say that it is no JSON.
import { createContext, useContext } from "react";
import type { Problem } from "../request/draft";

interface Edit {
  problems: readonly Problem[];
  /** Say why the text of a field is no JSON; null: it is some. */
  report: (field: string, why: string | null) => void;
}

export const EditContext = createContext<Edit>({ problems: [], report: () => {} });

export function useEdit(): Edit {
  return useContext(EditContext);
}

/** What is wrong with exactly this field, as the server names it. */
export function useProblem(field: string): string | null {
  const { problems } = useEdit();
  const found = problems.find((each) => withoutItem(each.field) === field);
  return found?.message ?? null;
}

/** Of a data set, where a field begins with its call: `items[3].model`. */
export function withoutItem(field: string): string {
  return field.replace(/^items\[\d+\]\./, "");
}
