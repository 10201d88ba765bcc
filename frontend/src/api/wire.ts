/** What the board says, word for word. Times are Unix seconds by the board's clock; null means "cannot tell". */

import type {
  Bye,
  ChangeMessage as AnyChange,
  GpuRow,
  Heartbeat,
  NodeRow,
  Snapshot as AnySnapshot,
} from './generated';

export type {
  ActivityHour,
  BoardInfo,
  Bye,
  ClaimView,
  ComponentView,
  FleetView,
  FreeAnswer,
  FreeBlock,
  GpuProcess,
  GpuReading,
  GpuRow,
  GpuView,
  Heartbeat,
  HolderView,
  HostFacts,
  NodeRow,
  NodeView,
  Problem,
  Readiness,
  Reason,
} from './generated';

export type VerdictWord = GpuRow['verdict'];
export type Tier = AnySnapshot['tier'];

export const VERDICTS: readonly VerdictWord[] = [
  'free',
  'busy',
  'idle',
  'booked',
  'stale',
  'broken',
  'unknown',
];

/** An object of equally long arrays: one per field of the row. */
export type Columns<Row> = { [Field in keyof Row]: Row[Field][] };

/** The document of the API does not say what is in the columns. */
interface Rows {
  nodes: Columns<NodeRow>;
  gpus: Columns<GpuRow>;
}
export type Snapshot = Omit<AnySnapshot, keyof Rows> & Rows;
export type ChangeMessage = Omit<AnyChange, keyof Rows> & Rows;

export type StreamMessage = Snapshot | ChangeMessage | Heartbeat | Bye;
