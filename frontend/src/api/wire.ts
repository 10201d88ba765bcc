/** What the board says, word for word. Times are Unix seconds by the board's clock; null means "cannot tell". */

import type { ClaimView, HolderView, Problem, Reason, Verdict as VerdictView } from './generated';

export type {
  ActivityHour as Activity,
  GpuProcess,
  GpuReading,
  GpuView,
  HostFacts as HostView,
  NodeView,
  Problem,
  Reason,
} from './generated';
export type Claim = ClaimView;
export type GpuUser = HolderView;
export type Verdict = VerdictView['word'];

export const VERDICTS: readonly Verdict[] = ['free', 'busy', 'idle', 'booked', 'stale', 'broken', 'unknown'];

export type NodeState = 'live' | 'late' | 'lost' | 'never' | 'refused' | 'error';
export type Flag = 'trespass' | 'no_show' | 'hot' | 'throttled' | 'orphaned_memory';
export type Tier = 'names' | 'counts';

// The stream's own records, by hand: a WebSocket has no place in OpenAPI's paths.
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
