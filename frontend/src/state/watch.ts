import type { Session } from './session.svelte';

// Whoever comes back to the tab may have signed in in another one; who is signed in mostly still is.
const VISITOR_MS = 5000;
const PERSON_MS = 600_000;

/** Ask who it is when the tab is looked at again. */
export function watchSession(session: Pick<Session, 'ask' | 'person'>): () => void {
  let askedAt = performance.now();
  const seen = () => {
    const isOld = performance.now() - askedAt > (session.person === null ? VISITOR_MS : PERSON_MS);
    if (document.visibilityState !== 'visible' || !isOld) return;
    askedAt = performance.now();
    void session.ask();
  };
  document.addEventListener('visibilitychange', seen);
  addEventListener('focus', seen);
  return () => {
    document.removeEventListener('visibilitychange', seen);
    removeEventListener('focus', seen);
  };
}
