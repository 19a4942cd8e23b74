// Parts of the page that load on first use wait for a server that is away: the router would reload
// the whole page and leave the browser's own error in its place.
const RETRY_MS = 1_000;

export async function untilServed<T>(load: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await load();
    } catch (error) {
      if (await isServed()) throw error; // the part no longer exists: there is a newer build
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
