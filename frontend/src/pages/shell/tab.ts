/** What the browser's tab says: where one is. */

import type { App } from '../../state/context';

/** What the page that is open is about; nothing on the board itself. */
export function placeOf({ fleet, language, router: { route } }: App): string[] {
  const shown = (name: string) => fleet.nodes.get(name)?.record.display_name ?? name;
  if (route.page === 'people' || route.page === 'bookings' || route.page === 'usage')
    return [language.say(route.page)];
  if (route.page === 'person') return [language.person(route.name)];
  if (route.page === 'account') {
    const titles = { audit: 'account_audit', account: 'account_page' } as const;
    return [language.say(route.part in titles ? titles[route.part as keyof typeof titles] : 'signIn')];
  }
  if (route.page === 'node') return [shown(route.name)];
  if (route.page !== 'gpu') return [];
  const gpu = fleet.gpus.get(route.uuid);
  if (!gpu) return [route.uuid];
  return [`${shown(gpu.record.node)} ${language.say('gpu')} ${gpu.record.label}`, gpu.model];
}
