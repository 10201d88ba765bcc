import { untrack } from 'svelte';
import type { PastSpan } from '../api/history';
import type { Clock } from './clock.svelte';
import type { Router } from './router.svelte';
import { panned, RANGES, rangeOf, spanOf, within, zoomed, type RangeName } from './span';

/** So long at most what ends now is left as it is: nobody calls live what ended longer ago. */
const LONGEST_STEP = 600;

/** What of time all plots of a page show; it is in the address, so that a link shows the same. */
export class TimeWindow {
  constructor(
    private readonly router: Pick<Router, 'query' | 'setQuery' | 'at'>,
    private readonly clock: Pick<Clock, 'second'>,
    private readonly since: () => number | null,
  ) {}

  get range(): RangeName {
    return rangeOf(this.router.query.get('range'));
  }

  set range(range: RangeName) {
    this.router.setQuery({ range: range === '24h' ? null : range, from: null, to: null });
  }

  #chosen = $derived.by((): PastSpan | null => {
    const [from, to] = ['from', 'to'].map((key) => Number(this.router.query.get(key) ?? NaN));
    return to! > from! ? within({ from: from!, to: to! }, this.limits) : null;
  });
  // Plots move on by steps that can be seen, not by the second.
  #step = $derived(Math.max(10, Math.min(LONGEST_STEP, RANGES[this.range] / 1440)));
  // From the moment on at which somebody asked: what they see first ends then.
  #asked = $derived.by(() => {
    void [this.range, this.router.at];
    return untrack(() => this.clock.second);
  });
  #now = $derived.by(
    () => this.#asked + Math.floor((this.clock.second - this.#asked) / this.#step) * this.#step,
  );
  #span = $derived.by(() => this.#chosen ?? spanOf(this.range, this.#now, this.router.at));

  get span(): PastSpan {
    return this.#span;
  }

  /** Whether it ends now, and moves on. */
  get isLive(): boolean {
    return this.#chosen === null && this.#span.to === this.#now;
  }

  /** Whether somebody looks closer than the range. */
  get isChosen(): boolean {
    return this.#chosen !== null;
  }

  /** From the first record (or a month ago, or as far back as the range reaches) to now. */
  get limits(): PastSpan {
    const now = this.clock.second;
    return { from: Math.min(this.since() ?? now, now - RANGES['30d'], now - RANGES[this.range]), to: now };
  }

  choose(span: PastSpan): void {
    const { from, to } = within(span, this.limits);
    // The first look closer is a step, so that Back leads to the whole range again.
    this.router.setQuery({ from: String(Math.round(from)), to: String(Math.round(to)) }, !this.isChosen);
  }

  zoom(factor: number, around: number): void {
    this.choose(zoomed(this.span, factor, around, this.limits));
  }

  pan(share: number): void {
    this.choose(panned(this.span, share, this.limits));
  }

  reset(): void {
    this.router.setQuery({ from: null, to: null });
  }
}
