// The id that this page gives itself: kept over a reload, never shared by two tabs.

const KEY = "treadle.page";
let own: string | null = null;

/** The id. A duplicated tab has the other tab's id in its storage: `claimPageId` detects that. */
export function pageId(): string {
  own ??= sessionStorage.getItem(KEY) ?? fresh();
  return own;
}

/** Claims the id for the lifetime of this tab, or a new one if another tab has it. */
export async function claimPageId(): Promise<void> {
  if (!("locks" in navigator)) return;
  while (!(await claimed(pageId()))) own = fresh();
}

function claimed(id: string): Promise<boolean> {
  return new Promise((resolve) => {
    void navigator.locks.request(`treadle.page.${id}`, { ifAvailable: true }, (lock) => {
      resolve(lock !== null);
      return lock === null ? undefined : new Promise<never>(() => {});
    });
  });
}

function fresh(): string {
  const id = crypto.randomUUID();
  sessionStorage.setItem(KEY, id);
  return id;
}
