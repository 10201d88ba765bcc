import type { Component } from 'svelte';
import type { Client } from '../api/client';
import { strips, type HistoryAnswer } from '../api/history';
import type { Gpu } from './fleet.svelte';

export const STRIP_POINTS = 48;
export const STRIP_SECONDS = 86_400;
// So many nodes the board lets one question name.
const NODES_AT_ONCE = 64;
const GATHER_MS = 80;
const RETRY_MS = 5000;
// A point is half an hour: nobody sees less than a third of one.
const AGAIN_MS = 600_000;

/** What draws a GPU of a row in the place of its cell. */
export interface Strips {
  Cell: Component<{ gpu: Gpu; tabindex: 0 | -1; column: number }>;
  /** What it says, in the head of the rows. */
  Legend: Component;
  feed: StripFeed;
}

/** A day of use of each GPU whose node is drawn; asked for together, as rows come into sight. */
export class StripFeed {
  #known = $state.raw<ReadonlyMap<string, (number | null)[]>>(new Map());
  #drawn = new Map<string, number>();
  #waiting = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly client: Client,
    private readonly until: () => number,
  ) {}

  /** Half hours, the oldest first; null: not told yet. */
  of(uuid: string): (number | null)[] | null {
    return this.#known.get(uuid) ?? null;
  }

  /** A GPU of this node is drawn, until the stop. */
  want(node: string): () => void {
    const count = this.#drawn.get(node) ?? 0;
    this.#drawn.set(node, count + 1);
    if (!count) this.#gather([node]);
    return () => {
      const left = (this.#drawn.get(node) ?? 1) - 1;
      if (left) this.#drawn.set(node, left);
      else this.#drawn.delete(node);
    };
  }

  /** Keep what is drawn true; returns the stop. */
  start(): () => void {
    const timer = setInterval(() => this.again(), AGAIN_MS);
    return () => {
      clearInterval(timer);
      clearTimeout(this.#timer);
    };
  }

  /** Another day is meant: all that is drawn is asked for anew. */
  again(): void {
    this.#gather(this.#drawn.keys());
  }

  #gather(nodes: Iterable<string>, wait = GATHER_MS): void {
    for (const node of nodes) this.#waiting.add(node);
    clearTimeout(this.#timer);
    if (this.#waiting.size) this.#timer = setTimeout(() => void this.#ask(), wait);
  }

  async #ask(): Promise<void> {
    const nodes = [...this.#waiting].slice(0, NODES_AT_ONCE);
    for (const node of nodes) this.#waiting.delete(node);
    const to = this.until();
    try {
      this.#take(await strips(this.client, nodes, { from: to - STRIP_SECONDS, to }, STRIP_POINTS));
      this.#gather([], 0);
    } catch {
      // The board may be away, or asked too often: what is still drawn is asked for again.
      this.#gather(
        nodes.filter((node) => this.#drawn.has(node)),
        RETRY_MS,
      );
    }
  }

  #take({ series }: HistoryAnswer): void {
    const known = new Map(this.#known);
    for (const { gpu, mean } of series) if (gpu !== null) known.set(gpu, mean);
    this.#known = known;
  }
}

/** Shades from nothing to all, as a background of hard stops; what nobody saw stays open. */
export function stripGradient(values: (number | null)[]): string {
  const stops: string[] = [];
  const width = 100 / Math.max(1, values.length);
  let begin = 0;
  values.forEach((value, place) => {
    const shade = shadeOf(value);
    if (place + 1 < values.length && shadeOf(values[place + 1] ?? null) === shade) return;
    const [from, to] = [begin * width, (place + 1) * width].map((each) => `${Math.round(each * 100) / 100}%`);
    stops.push(`${shade === null ? 'transparent' : `var(--heat-${shade})`} ${from} ${to}`);
    begin = place + 1;
  });
  return `linear-gradient(90deg, ${stops.join(', ')})`;
}

/** One of five: no use at all, then quarters. */
function shadeOf(value: number | null): number | null {
  return value === null ? null : value < 1 ? 0 : Math.min(4, Math.floor(value / 25) + 1);
}
