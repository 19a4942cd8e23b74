// Divides an excerpt at the ends of its matches.

export interface Piece {
  from: number;
  text: string;
  isFound: boolean;
}

/** `ranges` and `start` count characters (code points), as on the server; ranges are in order. */
export function pieces(
  excerpt: string,
  ranges: readonly (readonly number[])[],
  start = 0,
): Piece[] {
  const characters = [...excerpt];
  const cut: Piece[] = [];
  let at = start;
  const put = (until: number, isFound: boolean) => {
    if (until > at) cut.push({ from: at, text: characters.slice(at, until).join(""), isFound });
    at = Math.max(at, until);
  };
  for (const [from = 0, to = 0] of ranges) {
    put(from, false);
    put(to, true);
  }
  put(characters.length, false);
  return cut;
}
