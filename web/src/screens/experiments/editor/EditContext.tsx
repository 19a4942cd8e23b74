// The context of every field of the form: errors, and where to report invalid JSON.
import { createContext, useContext } from "react";
import type { Problem } from "../request/draft";

interface Edit {
  problems: readonly Problem[];
  /** Reports why the text of a field is not JSON; null: it is. */
  report: (field: string, why: string | null) => void;
}

export const EditContext = createContext<Edit>({ problems: [], report: () => {} });

export function useEdit(): Edit {
  return useContext(EditContext);
}

/** The errors of exactly this field, by the server's name of it. */
export function useProblem(field: string): string | null {
  const { problems } = useEdit();
  const found = problems.find((each) => withoutItem(each.field) === field);
  return found?.message ?? null;
}

/** In a data set a field begins with its call: `items[3].model`. */
export function withoutItem(field: string): string {
  return field.replace(/^items\[\d+\]\./, "");
}
