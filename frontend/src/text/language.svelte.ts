import { untrack } from 'svelte';
import type { remedies } from './de/remedies';
import type { trouble } from './de/trouble';
import type { Words } from './en/words';
import type { AccountWords } from './en/account';
import type { BookingWords } from './en/bookings';
import type { MoreWords } from './en/more';
import type { PastWords } from './en/past';
import type { UsageWords } from './en/usage';

export type TroubleWords = Record<keyof typeof trouble, string>;
export type RemedyWords = Record<keyof typeof remedies, string>;
export type LaterWords = MoreWords & PastWords & AccountWords & BookingWords & UsageWords;
type AllWords = Words & LaterWords & TroubleWords & RemedyWords;
export type Key = keyof AllWords;

interface Spoken {
  name: string;
  load: () => Promise<Words>;
}

export const LANGUAGES = {
  en: { name: 'English', load: async () => (await import('./en/words')).words },
  'zh-TW': { name: '繁體中文', load: async () => (await import('./zh-TW/words')).words },
  'zh-CN': { name: '简体中文', load: async () => (await import('./zh-CN/words')).words },
  fr: { name: 'Français', load: async () => (await import('./fr/words')).words },
  de: { name: 'Deutsch', load: async () => (await import('./de/words')).words },
} as const satisfies Record<string, Spoken>;
export type Tag = keyof typeof LANGUAGES;

/** The first language of the viewer that we speak. */
export function chooseLanguage(wanted: readonly string[]): Tag {
  for (const tag of wanted) {
    const short = tag.toLowerCase().split('-')[0]!;
    // Chinese is written in two ways: which, the script says, or else the region.
    if (short === 'zh') return /^zh(?!-hans).*-(hant|tw|hk|mo)\b/i.test(tag) ? 'zh-TW' : 'zh-CN';
    if (Object.hasOwn(LANGUAGES, short)) return short as Tag;
  }
  return 'en';
}

type Values = Record<string, string | number>;

/** Words, numbers and times the way this viewer writes them. */
export class Language {
  #words: Partial<AllWords>;
  #tag: Tag;
  #learnt = new Set<'trouble' | 'remedies'>();
  #plural = $derived(new Intl.PluralRules(this.tag));
  #integer = $derived(new Intl.NumberFormat(this.tag, { maximumFractionDigits: 0 }));
  #decimal = $derived(new Intl.NumberFormat(this.tag, { maximumFractionDigits: 1 }));
  #clock = $derived(
    new Intl.DateTimeFormat(this.tag, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }),
  );
  #exact = $derived(
    new Intl.DateTimeFormat(this.tag, {
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      hourCycle: 'h23',
    }),
  );
  #weekday = $derived(new Intl.DateTimeFormat(this.tag, { weekday: 'short' }));
  #list = $derived(new Intl.ListFormat(this.tag, { type: 'conjunction' }));
  #date = $derived(new Intl.DateTimeFormat(this.tag, { day: 'numeric', month: 'short' }));

  /** `isPast`: whether what is said may not be true any more. */
  constructor(
    tag: Tag,
    words: Partial<AllWords>,
    private readonly isPast: () => boolean = () => false,
  ) {
    this.#tag = $state(tag);
    this.#words = $state.raw(words);
  }

  get tag(): Tag {
    return this.#tag;
  }

  /** Whether everything is told of a time that is over: nothing is free then, some of it was. */
  get past(): boolean {
    return this.isPast();
  }

  async change(tag: Tag): Promise<void> {
    const { LATER } = await import('./later');
    const parts = ['more', ...this.#learnt] as const;
    const words = await Promise.all([LANGUAGES[tag].load(), ...parts.map((part) => LATER[tag][part]())]);
    this.#words = Object.assign({}, ...words);
    this.#tag = tag;
  }

  /** Learn the words of what opens later. */
  async complete(): Promise<void> {
    // Untracked: a part that waited for words is not drawn anew, and its focus lost, whenever more are learnt.
    await untrack(async () => {
      if (!this.knows('help')) await this.change(this.#tag);
    });
  }

  /** Learn the words of what can be wrong with a node, or of what to do then; without them the board's English stays. */
  async learn(part: 'trouble' | 'remedies'): Promise<void> {
    if (this.#learnt.has(part)) return;
    this.#learnt.add(part);
    const tag = this.#tag;
    if (tag === 'en') return;
    try {
      const words = await (await import('./later')).LATER[tag][part]();
      if (tag === this.#tag) this.#words = { ...this.#words, ...words };
    } catch {
      // The board may be away; whoever asks next tries again.
      this.#learnt.delete(part);
    }
  }

  say = (key: Key, values: Values = {}): string => {
    const past = `was_${key}` as Key;
    const entry = (this.past ? this.#words[past] : undefined) ?? this.#words[key] ?? key;
    let text: string;
    if (typeof entry === 'string') text = entry;
    else {
      const form = this.#plural.select(Number(values['count']));
      text = (form === 'one' ? entry.one : undefined) ?? entry.other;
    }
    return text.replace(/\{(\w+)\}/g, (whole, name: string) => {
      const value = values[name];
      return value === undefined ? whole : typeof value === 'number' ? this.#integer.format(value) : value;
    });
  };

  /** The same, or null if a value is missing: a sentence with a hole is worse than none. */
  sayWhole = (key: Key, values: Values): string | null => {
    const entry = this.#words[key] ?? '';
    const names = (typeof entry === 'string' ? entry : entry.other).match(/(?<=\{)\w+(?=\})/g) ?? [];
    return names.every((name) => values[name] !== undefined) ? this.say(key, values) : null;
  };

  /** Whether there are words under this key: codes from a newer board may lack them. */
  knows = (key: string): key is Key => key in this.#words;

  number = (value: number | null | undefined): string => (value == null ? '—' : this.#integer.format(value));
  decimal = (value: number | null | undefined): string =>
    // Rounded first, and without a minus before zero.
    value == null ? '—' : this.#decimal.format(Math.round(value * 10) / 10 || 0);

  /** Memory as people say it of GPUs: a "GB" is 2^30 bytes, as in the output of nvidia-smi. */
  memory = (bytes: number | null | undefined): string => {
    if (bytes == null) return '—';
    const gib = bytes / 2 ** 30;
    if (gib < 0.95) return `${this.#integer.format(bytes / 2 ** 20)} MB`;
    if (gib >= 1000) return `${this.#decimal.format(gib / 1024)} TB`;
    return `${(gib < 9.95 ? this.#decimal : this.#integer).format(gib)} GB`;
  };

  /** "51 min", "1 h 40" (brief: "1 h"), "2 d". */
  duration = (seconds: number | null | undefined, brief = false): string => {
    if (seconds == null) return '—';
    const whole = Math.max(0, Math.round(seconds));
    if (whole < 60) return this.say('seconds', { n: whole });
    const minutes = Math.floor(whole / 60);
    if (minutes < 60) return this.say('minutes', { n: minutes });
    const hours = Math.floor(minutes / 60);
    if (hours >= 48) return this.say('days', { n: Math.floor(hours / 24) });
    const rest = minutes % 60;
    if (hours >= 6 || rest === 0 || brief) return this.say('hours', { n: hours });
    return this.say('hoursMinutes', { h: hours, m: String(rest).padStart(2, '0') });
  };

  /** The time of day; another day is named, a far one dated. */
  time = (at: number | null | undefined, now: number): string => {
    if (at == null) return '—';
    const moment = new Date(at * 1000);
    const today = new Date(now * 1000);
    if (moment.toDateString() === today.toDateString()) return this.#clock.format(moment);
    if (Math.abs(at - now) < 6 * 86400)
      return `${this.#weekday.format(moment)} ${this.#clock.format(moment)}`;
    return this.#date.format(moment);
  };

  /**
   * The day when it is another day than today, else the time of day: for places with little room. What ends at
   * midnight ends with the day before.
   */
  shortEnd = (at: number, now: number): string => {
    const moment = new Date(at * 1000);
    if (!moment.getHours() && !moment.getMinutes()) moment.setMinutes(-1);
    if (moment.toDateString() === new Date(now * 1000).toDateString()) return this.#clock.format(moment);
    return (Math.abs(at - now) < 6 * 86400 ? this.#weekday : this.#date).format(moment);
  };

  /** A user as the board names them: whom nothing identifies has a word of ours. */
  person = (name: string): string => (name === 'unknown' ? this.say('unknown') : name);

  /** Whose a process is: who has no name here is a number, as among holders. */
  owner = ({ user, uid }: { user: string | null; uid: number | null }): string =>
    this.person(user || (uid === null ? 'unknown' : `uid ${uid}`));

  list = (items: string[]): string => this.#list.format(items);

  /** Day, year and time to the second: for paper, which is read on any day. */
  moment = (at: number): string =>
    new Date(at * 1000).toLocaleString(this.tag, {
      dateStyle: 'medium',
      timeStyle: 'medium',
      hourCycle: 'h23',
    });

  /** To the second; another day than today is dated. */
  exactTime = (at: number | null | undefined, now: number): string => {
    if (at == null) return '—';
    const moment = new Date(at * 1000);
    const day =
      moment.toDateString() === new Date(now * 1000).toDateString() ? '' : this.#date.format(moment);
    return `${day} ${this.#exact.format(moment)}`.trim();
  };
}
