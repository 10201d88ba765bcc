/** What the board says, word for word. Times are Unix seconds by the board's clock; null means "cannot tell". */

import type {
  BoardInfo,
  Bye,
  ClaimView,
  ComponentView,
  GpuRow,
  Heartbeat,
  HolderView,
  NodeRow,
  Verdict as VerdictView,
} from './generated';

export type {
  ActivityHour as Activity,
  BoardInfo as BoardFacts,
  Bye,
  GpuProcess,
  GpuReading,
  GpuView,
  Heartbeat,
  HostFacts as HostView,
  NodeView,
  Problem,
  Reason,
} from './generated';
export type Claim = ClaimView;
export type Trouble = ComponentView;
export type GpuUser = HolderView;
export type Verdict = VerdictView['word'];

export const VERDICTS: readonly Verdict[] = ['free', 'busy', 'idle', 'booked', 'stale', 'broken', 'unknown'];

export type NodeState = 'live' | 'late' | 'lost' | 'never' | 'refused' | 'error';
export type Flag = GpuRow['flags'][number];
export type Tier = 'names' | 'counts';

export type NodeRecord = NodeRow;
export type GpuRecord = GpuRow;

/** An object of equally long arrays: one per field of the record. */
export type Columns<Row> = { [Field in keyof Row]: Row[Field][] };

export interface Snapshot {
  kind: 'snapshot';
  stream: string;
  sequence: number;
  at: number;
  tier: Tier;
  board: BoardInfo;
  nodes: Columns<NodeRecord>;
  gpus: Columns<GpuRecord>;
  troubles: Trouble[];
}

export interface Change {
  kind: 'change';
  sequence: number;
  at: number;
  nodes: Columns<NodeRecord>;
  gpus: Columns<GpuRecord>;
  gone: { nodes: string[]; gpus: string[] };
  /** Null: as before. */
  troubles: Trouble[] | null;
}

export type StreamMessage = Snapshot | Change | Heartbeat | Bye;
