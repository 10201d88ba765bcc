import { arrange, GROUPINGS, SORTS, type Grouping, type Section, type Sort } from './arrange';
import { grammar, parseFilter, toggleVerdict, type Filter } from './filter';
import { countVerdicts, type Fleet, type FleetNode, type Gpu } from './fleet.svelte';
import type { Density, Preferences } from './preferences.svelte';
import type { Router } from './router.svelte';
import type { Session } from './session.svelte';
import type { Strips } from './strips.svelte';

const REST_MS = 10_000;
const CARDS_UP_TO = 16;
// Names and people up to two hundred nodes of eight; beyond, rows would only be scrolled past.
const ROWS_UP_TO = 1600;
export const DENSITIES = ['cards', 'rows', 'map', 'text'] as const;

/** What of the fleet the board shows and how; all of it is in the address, so that a view can be shared. */
export class BoardView {
  #heldUntil = -Infinity;
  #order = new Map<string, number>();
  #orderFor = '';

  /** Terms that cannot be read take nothing away: a half-typed one does not empty the board. */
  #filter = $derived(parseFilter(this.text));
  #sections = $derived.by(() => {
    const keepEmpty = !this.#filter.terms.length;
    return this.#steady(
      arrange(this.fleet.nodes.values(), this.passing(this.#filter), this.grouping, this.sort, keepEmpty),
    );
  });
  #shown = $derived.by(() => {
    const gpus = new Set<Gpu>();
    for (const section of this.#sections)
      for (const row of section.rows) for (const gpu of row.shown) gpus.add(gpu);
    return gpus;
  });
  #density = $derived.by(() => {
    if (this.chosenDensity !== 'auto') return this.chosenDensity;
    // By the size of the fleet, never by the filter: what one looks for does not change how it looks.
    const { size } = this.fleet.gpus;
    return size <= CARDS_UP_TO ? 'cards' : size <= ROWS_UP_TO ? 'rows' : 'map';
  });

  constructor(
    private readonly fleet: Fleet,
    private readonly router: Router,
    private readonly preferences: Preferences,
    private readonly session: Pick<Session, 'me'>,
  ) {}

  get text(): string {
    return this.router.query.get('q') ?? '';
  }

  set text(text: string) {
    this.router.setQuery({ q: text });
  }

  get errors() {
    return this.#filter.errors;
  }

  get filter(): Filter {
    return this.#filter;
  }

  get sort(): Sort {
    const asked = this.router.query.get('sort') as Sort;
    return SORTS.includes(asked) ? asked : 'free';
  }

  set sort(sort: Sort) {
    this.router.setQuery({ sort: sort === 'free' ? null : sort });
  }

  get grouping(): Grouping {
    const asked = this.router.query.get('group') as Grouping;
    return GROUPINGS.includes(asked) ? asked : 'node';
  }

  set grouping(grouping: Grouping) {
    this.router.setQuery({ group: grouping === 'node' ? null : grouping });
  }

  get chosenDensity(): Density {
    const asked = this.router.query.get('view') as Exclude<Density, 'auto'>;
    return DENSITIES.includes(asked) ? asked : this.preferences.density;
  }

  set chosenDensity(density: Density) {
    this.preferences.set({ density });
    this.router.setQuery({ view: density === 'auto' ? null : density });
  }

  get density(): Exclude<Density, 'auto'> {
    return this.#density;
  }

  get sections(): Section[] {
    return this.#sections;
  }

  get shown(): Set<Gpu> {
    return this.#shown;
  }

  /** The one node that the filter names, if it leaves no other. */
  readonly named = $derived.by((): FleetNode | null => {
    const asked = this.#filter.terms.flatMap(({ key, text }) =>
      key === '' || key === 'node' ? text.toLowerCase().replace(/^node[:=]|"/g, '') : [],
    );
    const nodes = asked.length
      ? new Set(this.#sections.flatMap(({ rows }) => rows.map(({ node }) => node)))
      : null;
    if (nodes?.size !== 1) return null;
    const [node] = nodes;
    const { display_name, name } = node!.record;
    return asked.some((word) => `${name}\n${display_name}`.toLowerCase().includes(word)) ? node! : null;
  });

  readonly counts = $derived(countVerdicts(this.#shown));

  /** What there is of each verdict, whichever of them the filter asks for. */
  readonly verdictCounts = $derived.by(() => {
    const text = toggleVerdict(this.text, null);
    const { terms } = parseFilter(text);
    if (!terms.length) return this.fleet.counts;
    if (terms.length === this.#filter.terms.length) return this.counts;
    const passes = this.passing({ terms, errors: [] });
    const nodes = [...this.fleet.nodes.values()];
    return countVerdicts(nodes.flatMap((node) => node.gpus.filter((gpu) => passes(gpu, node))));
  });

  /** What is drawn in the place of cells, if something is. */
  strips = $state.raw<Strips | null>(null);

  #collapsed = $state.raw<ReadonlySet<string>>(new Set());

  /** What can be folded away: sections of a grouping, or the nodes of the cards. */
  get collapsible(): string[] {
    if (this.grouping !== 'node') return this.#sections.map((section) => section.title ?? '');
    return this.#density === 'cards'
      ? this.#sections.flatMap((section) => section.rows.map((row) => row.node.record.name))
      : [];
  }

  get allCollapsed(): boolean {
    return this.collapsible.every((key) => this.#collapsed.has(key));
  }

  isCollapsed(key: string): boolean {
    return this.#collapsed.has(key);
  }

  toggleCollapsed(key: string): void {
    const collapsed = new Set(this.#collapsed);
    if (!collapsed.delete(key)) collapsed.add(key);
    this.#collapsed = collapsed;
  }

  collapseAll(yes: boolean): void {
    this.#collapsed = new Set(yes ? this.collapsible : []);
  }

  /** Somebody points at the rows: they keep their order until ten seconds of rest. */
  hold(): void {
    this.#heldUntil = performance.now() + REST_MS;
  }

  /** Whether a GPU passes a filter, as things are now. */
  passing(filter: Filter): (gpu: Gpu, node: FleetNode) => boolean {
    const { me } = this.session;
    // What has terms was read; only what is empty passes unread.
    const read = filter.terms[0] && grammar(filter.terms[0].text);
    return read ? read.passing(filter, this.fleet.at ?? 0, me) : () => true;
  }

  #steady(sections: Section[]): Section[] {
    const orderFor = `${this.grouping} ${this.sort} ${this.text}`;
    if (orderFor === this.#orderFor && performance.now() < this.#heldUntil) {
      const place = (key: string) => this.#order.get(key) ?? Infinity;
      sections.sort((a, b) => place(`#${a.title}`) - place(`#${b.title}`) || 0);
      for (const section of sections) section.rows.sort((a, b) => place(a.key) - place(b.key) || 0);
    }
    this.#orderFor = orderFor;
    this.#order.clear();
    for (const section of sections) {
      this.#order.set(`#${section.title}`, this.#order.size);
      for (const row of section.rows) this.#order.set(row.key, this.#order.size);
    }
    return sections;
  }
}
