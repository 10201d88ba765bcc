/** What the board says, word for word. Times are Unix seconds by the board's clock; null means "cannot tell". */

export const VERDICTS = ['free', 'busy', 'idle', 'booked', 'stale', 'broken', 'unknown'] as const;
export type Verdict = (typeof VERDICTS)[number];

export type NodeState = 'live' | 'late' | 'lost' | 'never' | 'refused' | 'error';
export type Flag = 'trespass' | 'no_show' | 'hot' | 'throttled' | 'orphaned_memory';
export type Tier = 'names' | 'counts';

export interface Reason {
  code: string;
  values: Record<string, unknown>;
  text: string;
}

export interface Problem {
  kind: string;
  gpu_uuid: string | null;
  since: number | null;
  text: string;
  remedy: string | null;
}

export interface GpuUser {
  user: string | null;
  uid: number | null;
  memory_used_bytes: number | null;
  since: number | null;
  processes: number;
}

export interface Claim {
  who: string | null;
  until: number | null;
  comment: string | null;
}

export interface NodeRecord {
  name: string;
  display_name: string | null;
  state: NodeState;
  reason: Reason | null;
  source: string;
  sampled_at: number | null;
  interval_seconds: number | null;
  clock_offset_seconds: number | null;
  problems: Problem[];
  cpu_count: number | null;
  load_percent: number | null;
  memory_used_bytes: number | null;
  memory_total_bytes: number | null;
  disk_used_percent: number | null;
  gpus_missing: number | null;
}

export interface GpuRecord {
  uuid: string;
  node: string;
  index: number;
  model: string | null;
  memory_unified: boolean;
  mig_parent_uuid: string | null;
  mig_profile: string | null;
  verdict: Verdict;
  since: number | null;
  reason: Reason;
  flags: Flag[];
  utilization_percent: number | null;
  memory_used_bytes: number | null;
  memory_total_bytes: number | null;
  temperature_celsius: number | null;
  power_watts: number | null;
  power_limit_watts: number | null;
  users: GpuUser[] | null;
  claim: Claim | null;
}

/** An object of equally long arrays: one per field of the record. */
export type Columns<Row> = { [Field in keyof Row]: Row[Field][] };

export interface BoardFacts {
  version: string;
  name: string;
  demo: boolean;
  tick_seconds: number;
}

export interface Snapshot {
  kind: 'snapshot';
  stream: string;
  sequence: number;
  at: number;
  tier: Tier;
  board: BoardFacts;
  nodes: Columns<NodeRecord>;
  gpus: Columns<GpuRecord>;
}

export interface Change {
  kind: 'change';
  sequence: number;
  at: number;
  nodes: Columns<NodeRecord>;
  gpus: Columns<GpuRecord>;
  gone: { nodes: string[]; gpus: string[] };
}

export interface Heartbeat {
  kind: 'heartbeat';
  sequence: number;
  at: number;
}

export interface Bye {
  kind: 'bye';
  reason: string;
}

export type StreamMessage = Snapshot | Change | Heartbeat | Bye;

export interface GpuProcess {
  pid: number;
  started_at: number | null;
  user: string | null;
  uid: number | null;
  memory_used_bytes: number | null;
  kind: 'compute' | 'graphics' | 'both' | null;
  program: string | null;
  arguments: string | null;
  state: 'running' | 'sleeping' | 'disk-wait' | 'stopped' | 'zombie' | 'gone' | null;
  children: number[];
}

export interface GpuReading {
  index: number;
  vendor: string | null;
  model: string | null;
  memory_used_bytes: number | null;
  memory_total_bytes: number | null;
  memory_unified: boolean;
  utilization_percent: number | null;
  memory_utilization_percent: number | null;
  temperature_celsius: number | null;
  fan_percent: number | null;
  power_watts: number | null;
  power_limit_watts: number | null;
  graphics_clock_mhz: number | null;
  memory_clock_mhz: number | null;
  performance_state: string | null;
  throttle_reasons: string[] | null;
  ecc_enabled: boolean | null;
  ecc_corrected_errors: number | null;
  ecc_uncorrected_errors: number | null;
  pcie_bus_id: string | null;
  pcie_generation: number | null;
  pcie_width: number | null;
  persistence_mode: boolean | null;
  mig_parent_uuid: string | null;
  mig_profile: string | null;
  processes: GpuProcess[] | null;
}

export interface GpuView {
  uuid: string;
  uuid_is_synthetic: boolean;
  node: string;
  verdict: { word: Verdict; since: number | null; reason: Reason; flags: Flag[] };
  claim: Claim | null;
  reading: GpuReading;
}

export interface HostView {
  hostname: string | null;
  operating_system: string | null;
  kernel: string | null;
  uptime_seconds: number | null;
  cpu_count: number | null;
  load_1: number | null;
  load_5: number | null;
  load_15: number | null;
  memory_used_bytes: number | null;
  memory_total_bytes: number | null;
  disks: { mount: string; used_bytes: number | null; total_bytes: number | null }[];
  addresses: { interface: string; address: string }[];
  driver_version: string | null;
  cuda_version: string | null;
  agent_version: string | null;
}

export interface NodeView {
  name: string;
  display_name: string | null;
  state: NodeState;
  reason: Reason | null;
  source: string;
  sampled_at: number | null;
  received_at: number | null;
  interval_seconds: number | null;
  clock_offset_seconds: number | null;
  problems: Problem[];
  host: HostView | null;
  gpus: GpuView[];
}

export interface Activity {
  minutes: number;
  until: number;
  gpus: Record<string, (number | null)[]>;
}
