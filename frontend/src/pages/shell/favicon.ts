/** What the browser's tab shows: the free count as a picture. */

const FREE = '#008560';
const OLD = '#6d747f';

export function favicon(free: number, current: boolean): string {
  // Thousands are told as such: no room is no reason for a wrong number.
  const text = free < 1000 ? String(free) : `${Math.floor(free / 1000)}k`;
  const size = [23, 19, 15][text.length - 1] ?? 13;
  const svg =
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="${current ? FREE : OLD}"/>` +
    `<text x="16" y="${16 + size * 0.36}" font-family="sans-serif" font-weight="700" font-size="${size}" fill="#fff" text-anchor="middle">${current ? text : '?'}</text></svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}

export function setFavicon(address: string): void {
  const link = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
  if (link && link.href !== address) link.href = address;
}
