import type { AccountWords } from './en/account';
import type { BookingWords } from './en/bookings';
import type { MoreWords } from './en/more';
import type { PastWords } from './en/past';
import type { UsageWords } from './en/usage';
import type { LaterWords, RemedyWords, Tag, TroubleWords } from './language.svelte';

/** What the board itself can do without, until something opens. */
interface Later {
  more: () => Promise<LaterWords>;
  /** What can be wrong with a node; the board itself says it in English. */
  trouble: () => Promise<Partial<TroubleWords>>;
  /** And what to do about it. */
  remedies: () => Promise<Partial<RemedyWords>>;
}

/** What opens later, what looks back, who somebody is, what is booked, and what was used. */
async function all(
  first: Promise<{ more: MoreWords }>,
  second: Promise<{ past: PastWords }>,
  third: Promise<{ account: AccountWords }>,
  fourth: Promise<{ bookings: BookingWords }>,
  fifth: Promise<{ usage: UsageWords }>,
): Promise<LaterWords> {
  return {
    ...(await first).more,
    ...(await second).past,
    ...(await third).account,
    ...(await fourth).bookings,
    ...(await fifth).usage,
  };
}

export const LATER: Record<Tag, Later> = {
  en: {
    more: () =>
      all(
        import('./en/more'),
        import('./en/past'),
        import('./en/account'),
        import('./en/bookings'),
        import('./en/usage'),
      ),
    trouble: async () => ({}),
    remedies: async () => ({}),
  },
  'zh-TW': {
    more: () =>
      all(
        import('./zh-TW/more'),
        import('./zh-TW/past'),
        import('./zh-TW/account'),
        import('./zh-TW/bookings'),
        import('./zh-TW/usage'),
      ),
    trouble: async () => (await import('./zh-TW/trouble')).trouble,
    remedies: async () => (await import('./zh-TW/remedies')).remedies,
  },
  'zh-CN': {
    more: () =>
      all(
        import('./zh-CN/more'),
        import('./zh-CN/past'),
        import('./zh-CN/account'),
        import('./zh-CN/bookings'),
        import('./zh-CN/usage'),
      ),
    trouble: async () => (await import('./zh-CN/trouble')).trouble,
    remedies: async () => (await import('./zh-CN/remedies')).remedies,
  },
  fr: {
    more: () =>
      all(
        import('./fr/more'),
        import('./fr/past'),
        import('./fr/account'),
        import('./fr/bookings'),
        import('./fr/usage'),
      ),
    trouble: async () => (await import('./fr/trouble')).trouble,
    remedies: async () => (await import('./fr/remedies')).remedies,
  },
  de: {
    more: () =>
      all(
        import('./de/more'),
        import('./de/past'),
        import('./de/account'),
        import('./de/bookings'),
        import('./de/usage'),
      ),
    trouble: async () => (await import('./de/trouble')).trouble,
    remedies: async () => (await import('./de/remedies')).remedies,
  },
};
