// Parts of the page that load when they are first needed wait for a server that is away: the router
// would read the whole page anew, and leave the browser's own error in its place.
const RETRY_MS = 1_000;

export async function untilServed<T>(load: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await load();
    } catch (error) {
      if (await isServed()) throw error; // that part is gone: there is a newer build
    }
    await new Promise((done) => setTimeout(done, RETRY_MS));
  }
}

function isServed(): Promise<boolean> {
  return fetch("/", { method: "HEAD" }).then(
    () => true,
    () => false,
  );
}
