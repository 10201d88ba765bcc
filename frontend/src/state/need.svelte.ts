import type { Client } from '../api/client';
import type { FreeAnswer } from '../api/wire';
import { freeByModel, type ModelCount } from './answers';
import { toggleTerm, wordTerm, type Filter, type Term } from './filter';
import { BOX_SHARE } from './models';
import type { Fleet, Gpu } from './fleet.svelte';
import { asTold, findOffers, sizesOf, type Offer } from './offers';
import type { Router } from './router.svelte';
import type { BoardView } from './view.svelte';

/** How many offers are shown. */
export const SHOWN = 3;
const REST_MS = 150;
const EVERY_MS = 1000;

const NUMBER = /^free>=(\d+)$/i;
const MEMORY = /^mem(?:ory)?>=(.+)$/i;
const MODEL = /^model:"?([^"]+)"?$/i;
// What is going on on a GPU, not what it is: whoever looks for one to take means none of these.
const DOING = ['is', 'user', 'use', 'since', 'temperature', 'power', 'memory_free'];

/** How large a GPU has to be at least, as people write it: of `40G`, "≥ 40 GB". */
export const atLeast = (size: string): string => `≥ ${size.replace(/G$/i, ' GB')}`;

const size = (offers: Offer[]) => offers.reduce((sum, { gpus }) => sum + gpus.length, 0);
const suffices = (offers: Offer[], count: number, oneNode: boolean) =>
  oneNode ? offers.some(({ gpus }) => gpus.length >= count) : size(offers) >= count;

/**
 * What somebody needs, as the filter says it (`memory>=40G model:h100`, and `free>=4`: four on one node), and the
 * address (`need=4`: four, wherever); and what of the fleet fits.
 */
export class Need {
  #answer = $state.raw<{ question: string; told: FreeAnswer } | null>(null);
  #picked = $state.raw<ReadonlyMap<string, ReadonlySet<string>>>(new Map());
  #timer: ReturnType<typeof setTimeout> | undefined;
  #askedAt = -Infinity;

  /** The part of the filter that says what a GPU is. */
  readonly filter = $derived.by((): Filter => {
    const isKind = (term: Term) =>
      !DOING.includes(term.key) && !NUMBER.test(term.text) && (!!term.key || this.#isHardware(term));
    return { terms: this.view.filter.terms.filter(isKind), errors: [] };
  });
  readonly #found = $derived(this.#find());
  /** What fits, in the board's own order as soon as that is known. */
  readonly offers = $derived.by((): Offer[] => {
    const told = this.#told;
    return told ? asTold(this.#found, told, this.count) : this.#found;
  });
  /** When bookings that end leave enough, and on which node (null: several); null: there is enough, or nobody knows. */
  readonly fitsNext = $derived.by(() => {
    const { fits_from: at = null, fits_on: on } = (this.#knowsAll && this.#told) || {};
    return this.isEnough || at === null ? null : { at, on };
  });
  /** Whether the wish can be met. */
  readonly isEnough = $derived(suffices(this.#found, this.count, this.oneNode));
  /** How many of those that are needed there are, in one place if they have to be. */
  readonly most = $derived(
    this.oneNode ? Math.max(0, ...this.#found.map(({ gpus }) => gpus.length)) : size(this.#found),
  );
  readonly #takeable = $derived(this.#takeableOf(this.#found));
  /** How many GPUs can be taken for it. */
  readonly fitting = $derived(this.#takeable.length);
  /** The same by model. */
  readonly fittingModels = $derived(freeByModel(this.#takeable));
  readonly #changes = $derived(
    this.#found.map(({ key, fresh, since, gpus }) => [key, fresh, since, gpus.map((gpu) => gpu.record.uuid)]),
  );

  constructor(
    private readonly fleet: Fleet,
    private readonly router: Router,
    private readonly view: BoardView,
  ) {}

  get count(): number {
    const asked = Number(this.#written(NUMBER) ?? this.router.query.get('need'));
    return Number.isInteger(asked) && asked > 0 && asked <= 1024 ? asked : 1;
  }

  set count(count: number) {
    if (this.oneNode && count > 1) this.#write(NUMBER, `free>=${count}`);
    else {
      this.#write(NUMBER, null);
      this.router.setQuery({ need: count > 1 ? String(count) : null });
    }
  }

  get oneNode(): boolean {
    return this.#written(NUMBER) !== null;
  }

  set oneNode(yes: boolean) {
    const { count } = this;
    this.#write(NUMBER, yes ? `free>=${count}` : null);
    this.router.setQuery({ need: yes || count === 1 ? null : String(count) });
  }

  /** As written: `40G`; empty: any. */
  get memory(): string {
    return this.#written(MEMORY) ?? '';
  }

  set memory(size: string) {
    this.#write(MEMORY, size && `memory>=${size}`);
  }

  get model(): string {
    return this.#written(MODEL) ?? '';
  }

  set model(model: string) {
    this.#write(MODEL, model && wordTerm('model', model));
  }

  /** Whether fewer fit than are free. */
  get narrows(): boolean {
    return this.filter.terms.length > 0 || this.oneNode;
  }

  /** The models, each with how many could be taken by all that is asked for but the model. */
  readonly models = $derived.by((): Omit<ModelCount, 'total'>[] => {
    const terms = this.filter.terms.filter(({ text }) => !MODEL.test(text));
    const fits = this.view.passing({ terms, errors: [] });
    const isSame = terms.length === this.filter.terms.length;
    const found = isSame ? this.fittingModels : freeByModel(this.#takeableOf(this.#find(terms)));
    const free = new Map(found.map((each) => [each.model, each.free]));
    const known: Gpu[] = [];
    for (const node of this.fleet.nodes.values()) {
      let last: string | undefined;
      for (const gpu of node.gpus) {
        // Neighbours are alike: one of them tells that there is such a model.
        if (!gpu.record.counted || gpu.model === last || !fits(gpu, node)) continue;
        last = gpu.model;
        known.push(gpu);
      }
    }
    return freeByModel(known).map((each) => ({ ...each, free: free.get(each.model) ?? 0 }));
  });

  get sizes(): number[] {
    return sizesOf(this.fleet.gpus.values(), BOX_SHARE);
  }

  /** Whether another wish could be met: without a term of the filter, with another number, or on more nodes. */
  wouldBeEnough(without: string | null, count = this.count, oneNode = this.oneNode): boolean {
    const terms = this.filter.terms.filter(({ text }) => text !== without);
    return suffices(this.#find(terms, count, oneNode), count, oneNode);
  }

  /** The GPUs of an offer that somebody wants: those the board has chosen, unless they were changed. */
  picked({ key, gpus, chosen }: Offer): Gpu[] {
    const mine = this.#picked.get(`${this.#question} ${key}`);
    return mine ? gpus.filter((gpu) => mine.has(gpu.record.uuid)) : gpus.slice(0, chosen);
  }

  pick(offer: Offer, { record: { uuid } }: Gpu): void {
    const uuids = new Set(this.picked(offer).map((gpu) => gpu.record.uuid));
    if (!uuids.delete(uuid)) uuids.add(uuid);
    this.#picked = new Map(this.#picked).set(`${this.#question} ${offer.key}`, uuids);
  }

  /** Rises whenever the board should be asked anew. */
  get changes(): string {
    return this.#question + JSON.stringify(this.#changes);
  }

  /** Ask the board for its ranking: soon, and about once a second at most. */
  ask(client: Client, mayAsk: () => boolean): void {
    this.#timer ??= setTimeout(
      () => {
        this.#timer = undefined;
        if (!mayAsk()) return;
        this.#askedAt = performance.now();
        const question = this.#question;
        client.free(question).then(
          (told) => (this.#answer = { question, told }),
          () => {},
        );
      },
      Math.max(REST_MS, this.#askedAt + EVERY_MS - performance.now()),
    );
  }

  /** What the board has said of just this wish. */
  get #told(): FreeAnswer | null {
    return this.#answer?.question === this.#question ? this.#answer.told : null;
  }

  /** Whether the board is asked for all that is wished: it does not know all the words of the filter. */
  get #knowsAll(): boolean {
    return this.filter.terms.length === Number(!!this.memory) + Number(!!this.model);
  }

  /** What the board is asked. */
  readonly #question = $derived.by(() => {
    const query = new URLSearchParams({ gpus: String(this.count), same_node: String(this.oneNode) });
    if (this.memory) query.set('memory', this.memory);
    const { model } = this;
    if (model) {
      // The board knows a model by its own name, not by the one that people see.
      const models = new Set(this.#found.flatMap(({ gpus }) => gpus.map(({ record }) => record.model)));
      query.set('model', (models.size === 1 && [...models][0]) || model);
    }
    if (this.#knowsAll) query.set('limit', String(SHOWN));
    return String(query);
  });

  /** Whether a bare word names a node or a model; otherwise it is a person's, and no wish. */
  #isHardware(term: Term): boolean {
    const passes = this.view.passing({ terms: [term], errors: [] });
    const isNegated = /^[-!]/.test(term.text);
    for (const node of this.fleet.nodes.values()) {
      let last: string | undefined;
      for (const { record, model } of node.gpus) {
        if (model === last) continue;
        last = model;
        const nobodys = { ...record, users: null, claim: null, ended_claim: null };
        if (passes({ record: nobodys } as unknown as Gpu, node) !== isNegated) return true;
      }
    }
    return false;
  }

  /** The GPUs of offers; none where they have to be on one node, and none has enough. */
  #takeableOf(offers: Offer[]): Gpu[] {
    return !this.oneNode || suffices(offers, this.count, true) ? offers.flatMap(({ gpus }) => gpus) : [];
  }

  #find(terms = this.filter.terms, gpus = this.count, oneNode = this.oneNode): Offer[] {
    const fits = this.view.passing({ terms, errors: [] });
    const { at, justFreedSeconds, nodes } = this.fleet;
    return findOffers(nodes.values(), fits, { gpus, oneNode }, at ?? 0, justFreedSeconds);
  }

  #written(pattern: RegExp): string | null {
    for (const { text } of this.view.filter.terms) {
      const found = pattern.exec(text);
      if (found) return found[1]!;
    }
    return null;
  }

  #write(pattern: RegExp, term: string | null): void {
    let text = this.view.text;
    for (const each of this.view.filter.terms)
      if (pattern.test(each.text)) text = toggleTerm(text, each.text);
    if (term) text = toggleTerm(text, term);
    if (text !== this.view.text) this.view.text = text;
  }
}
