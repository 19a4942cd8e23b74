// The source of a setting's value, in words.
import type { ValueOrigin } from "../../api/schema";

export function originWords({ layer, source, line }: ValueOrigin): string {
  switch (layer) {
    case "default":
      return "by default";
    case "environment":
      return source ? `environment variable ${source}` : "environment";
    case "flag":
      return source ? `option ${source}` : "option";
    default:
      return `${source ?? layer}${line === null ? "" : `, line ${line}`}`;
  }
}
