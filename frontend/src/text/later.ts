import type { MoreWords } from './en/more';
import type { RemedyWords, Tag, TroubleWords } from './language.svelte';

/** What the board itself can do without, until something opens. */
interface Later {
  more: () => Promise<MoreWords>;
  /** What can be wrong with a node; the board itself says it in English. */
  trouble: () => Promise<Partial<TroubleWords>>;
  /** And what to do about it. */
  remedies: () => Promise<Partial<RemedyWords>>;
}

export const LATER: Record<Tag, Later> = {
  en: {
    more: async () => (await import('./en/more')).more,
    trouble: async () => ({}),
    remedies: async () => ({}),
  },
  'zh-TW': {
    more: async () => (await import('./zh-TW/more')).more,
    trouble: async () => (await import('./zh-TW/trouble')).trouble,
    remedies: async () => (await import('./zh-TW/remedies')).remedies,
  },
  'zh-CN': {
    more: async () => (await import('./zh-CN/more')).more,
    trouble: async () => (await import('./zh-CN/trouble')).trouble,
    remedies: async () => (await import('./zh-CN/remedies')).remedies,
  },
  fr: {
    more: async () => (await import('./fr/more')).more,
    trouble: async () => (await import('./fr/trouble')).trouble,
    remedies: async () => (await import('./fr/remedies')).remedies,
  },
  de: {
    more: async () => (await import('./de/more')).more,
    trouble: async () => (await import('./de/trouble')).trouble,
    remedies: async () => (await import('./de/remedies')).remedies,
  },
};
