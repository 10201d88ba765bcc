import { rows } from '../api/columns';
import { nominalModel } from './models';
import {
  VERDICTS,
  type BoardInfo,
  type ChangeMessage,
  type GpuRow,
  type NodeRow,
  type Snapshot,
  type Tier,
  type ComponentView,
  type VerdictWord,
} from '../api/wire';

/** Orders texts as people count: gpu2 before gpu10. */
export const natural = new Intl.Collator('en', { numeric: true });

const START_SECONDS = 30;

/** One GPU. `live` redraws who reads it; `record` is the same value without the tracking, for sums over thousands. */
export class Gpu {
  record: GpuRow;
  /** Model and memory as people say it. */
  model: string;
  #live: GpuRow;

  constructor(record: GpuRow) {
    this.record = record;
    this.model = nominalModel(record);
    this.#live = $state.raw(record);
  }

  get live(): GpuRow {
    return this.#live;
  }

  set(record: GpuRow): void {
    const before = this.record;
    if (record.model !== before.model || record.memory_total_bytes !== before.memory_total_bytes)
      this.model = nominalModel(record);
    this.record = record;
    this.#live = record;
  }
}

/** One node and its GPUs in the driver's order. */
export class FleetNode {
  record: NodeRow;
  /** Orders names as people count: gpu2 before gpu10. */
  readonly sortKey: string;
  gpus: Gpu[] = [];
  #live: NodeRow;
  #liveGpus = $state.raw<Gpu[]>([]);

  constructor(record: NodeRow) {
    this.record = record;
    this.sortKey = record.name.replace(/\d+/g, (digits) => digits.padStart(8, '0'));
    this.#live = $state.raw(record);
  }

  get live(): NodeRow {
    return this.#live;
  }

  get liveGpus(): Gpu[] {
    return this.#liveGpus;
  }

  set(record: NodeRow): void {
    this.record = record;
    this.#live = record;
  }

  setGpus(gpus: Gpu[]): void {
    // By label, so that the instances of a card stand behind it.
    this.gpus = gpus.sort(
      (a, b) => natural.compare(a.record.label, b.record.label) || (a.record.uuid < b.record.uuid ? -1 : 1),
    );
    this.#liveGpus = this.gpus;
  }
}

export type Counts = Record<VerdictWord, number> & { total: number };

/** How many GPUs have which verdict; the board says which of them are counted. */
export function countVerdicts(gpus: Iterable<Gpu>): Counts {
  const counts: Counts = { free: 0, busy: 0, idle: 0, booked: 0, stale: 0, broken: 0, unknown: 0, total: 0 };
  for (const gpu of gpus) {
    if (!gpu.record.counted) continue;
    counts[gpu.record.verdict]++;
    counts.total++;
  }
  return counts;
}

/** The whole fleet as the board last described it. Frames wait in a queue until `flush`, at most one row per GPU. */
export class Fleet {
  readonly #gpus = new Map<string, Gpu>();
  readonly #nodes = new Map<string, FleetNode>();
  #version = $state(0);
  #tier = $state<Tier>('counts');
  #board = $state.raw<BoardInfo | null>(null);
  #at = $state<number | null>(null);
  #troubles = $state.raw<ComponentView[]>([]);
  #unread = $derived([...this.nodes.values()].filter((node) => !node.record.gpus_known).length);
  #counts = $derived(countVerdicts(this.gpus.values()));

  #snapshot: Snapshot | null = null;
  #waitingNodes = new Map<string, NodeRow | null>();
  #waitingGpus = new Map<string, GpuRow | null>();
  #waitingAt: number | null = null;

  /** Rises whenever something changed. */
  get version(): number {
    return this.#version;
  }

  /** All GPUs; who reads them here, to sum over `record`s, is told of every change. */
  get gpus(): ReadonlyMap<string, Gpu> {
    void this.#version;
    return this.#gpus;
  }

  /** All nodes; the same holds for these. */
  get nodes(): ReadonlyMap<string, FleetNode> {
    void this.#version;
    return this.#nodes;
  }

  get tier(): Tier {
    return this.#tier;
  }

  get board(): BoardInfo | null {
    return this.#board;
  }

  /** Its owner may only be restarting: what became free this recently is offered last. */
  get justFreedSeconds(): number {
    return this.#board?.just_freed_seconds ?? 0;
  }

  /** What people call the board. */
  get title(): string {
    return this.#board?.title ?? 'gpuboard';
  }

  /** Where the bars of hosts get darker, in percent. */
  get hostLines(): number[] {
    return this.#board?.host_lines ?? [];
  }

  /** And those of GPUs. */
  get gpuLines(): number[] {
    return this.#board?.gpu_lines ?? [];
  }

  /** The parts of the board itself that do not work just now. */
  get troubles(): ComponentView[] {
    return this.#troubles;
  }

  /** The board's time of what is shown. */
  get at(): number | null {
    return this.#at;
  }

  /** How many nodes there are of which nobody knows what GPUs they have. */
  get unread(): number {
    return this.#unread;
  }

  /** Whether anything can be said of GPUs; zero is an answer only where somebody has looked. */
  get isKnown(): boolean {
    return this.counts.total > 0 || (this.nodes.size > 0 && this.#unread === 0);
  }

  /** Whether anything is known of now: of nodes that are silent nobody can say that they are used by nobody. */
  get isToldOf(): boolean {
    return this.isKnown && (this.counts.total === 0 || this.counts.total > this.counts.stale);
  }

  /** Whether the board runs so short a time that its sources may not have looked yet. */
  get isStarting(): boolean {
    return (this.#at ?? 0) - (this.#board?.started_at ?? 0) < START_SECONDS;
  }

  get counts(): Counts {
    return this.#counts;
  }

  /** Keep a frame for the next flush. */
  queue(message: Snapshot | ChangeMessage | { kind: 'heartbeat'; at: number }): void {
    this.#waitingAt = message.at;
    if (message.kind === 'heartbeat') return;
    this.#troubles = message.troubles ?? this.#troubles;
    if (message.kind === 'snapshot') {
      this.#snapshot = message;
      this.#waitingNodes.clear();
      this.#waitingGpus.clear();
      return;
    }
    for (const node of rows(message.nodes, 'name')) this.#waitingNodes.set(node.name, node);
    for (const gpu of rows(message.gpus, 'uuid')) this.#waitingGpus.set(gpu.uuid, gpu);
    for (const name of message.gone?.nodes ?? []) this.#waitingNodes.set(name, null);
    for (const uuid of message.gone?.gpus ?? []) this.#waitingGpus.set(uuid, null);
  }

  /** Show what waits. */
  flush(): void {
    if (this.#waitingAt === null) return;
    const touched = new Set<string>();
    if (this.#snapshot) this.#takeSnapshot(this.#snapshot, touched);
    for (const [name, record] of this.#waitingNodes) this.#setNode(name, record, touched);
    for (const [uuid, record] of this.#waitingGpus) this.#setGpu(uuid, record, touched);
    if (touched.size) this.#regroup(touched);
    if (this.#snapshot || this.#waitingNodes.size || this.#waitingGpus.size) this.#version++;
    this.#at = this.#waitingAt;
    this.#snapshot = null;
    this.#waitingNodes.clear();
    this.#waitingGpus.clear();
    this.#waitingAt = null;
  }

  #takeSnapshot(snapshot: Snapshot, touched: Set<string>): void {
    this.#tier = snapshot.tier;
    this.#board = snapshot.board;
    const nodes = rows(snapshot.nodes, 'name');
    const gpus = rows(snapshot.gpus, 'uuid');
    const names = new Set(nodes.map((node) => node.name));
    const uuids = new Set(gpus.map((gpu) => gpu.uuid));
    for (const name of this.#nodes.keys()) if (!names.has(name)) this.#nodes.delete(name);
    for (const uuid of this.#gpus.keys()) if (!uuids.has(uuid)) this.#setGpu(uuid, null, touched);
    for (const node of nodes) this.#setNode(node.name, node, touched);
    for (const gpu of gpus) this.#setGpu(gpu.uuid, gpu, touched);
  }

  #setNode(name: string, record: NodeRow | null, touched: Set<string>): void {
    const known = this.#nodes.get(name);
    if (!record) this.#nodes.delete(name);
    else if (known) known.set(record);
    else {
      this.#nodes.set(name, new FleetNode(record));
      touched.add(name);
    }
  }

  #setGpu(uuid: string, record: GpuRow | null, touched: Set<string>): void {
    const known = this.#gpus.get(uuid);
    if (!record) {
      if (known) touched.add(known.record.node);
      this.#gpus.delete(uuid);
      return;
    }
    // A newer board may know more words than this page: then we cannot tell.
    if (!VERDICTS.includes(record.verdict)) record.verdict = 'unknown';
    if (!known) {
      this.#gpus.set(uuid, new Gpu(record));
      touched.add(record.node);
      return;
    }
    if (known.record.node !== record.node || known.record.label !== record.label) {
      touched.add(known.record.node);
      touched.add(record.node);
    }
    known.set(record);
  }

  #regroup(touched: Set<string>): void {
    const members = new Map<string, Gpu[]>([...touched].map((name) => [name, []]));
    for (const gpu of this.#gpus.values()) members.get(gpu.record.node)?.push(gpu);
    for (const [name, gpus] of members) this.#nodes.get(name)?.setGpus(gpus);
  }
}
