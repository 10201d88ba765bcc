// Written by generate-types.mjs from the OpenAPI document. Do not edit.

export interface ActivityHour {
  minutes: number;
  until: number;
  gpus: Record<string, (number | null)[]>;
}

export interface Address {
  interface: string;
  address: string;
}

export interface BoardInfo {
  version: string;
  name: string;
  demo: boolean;
  tick_seconds: number;
  started_at: number;
  just_freed_seconds: number;
  title: string | null;
  copy: string;
  host_lines: (number)[];
  gpu_lines: (number)[];
  severities: Record<string, (string)[]>;
  contact: string | null;
  time_zone: string | null;
}

export interface Bye {
  kind: "bye";
  reason: string;
}

export interface ChangeMessage {
  kind: "change";
  sequence: number;
  at: number;
  nodes: Record<string, (unknown)[]>;
  gpus: Record<string, (unknown)[]>;
  gone: Gone;
  troubles: (ComponentView)[] | null;
  sources_unknown: number | null;
}

export interface ClaimView {
  who: string | null;
  until: number | null;
  comment: string | null;
  behind: (ClaimView)[];
}

export interface ComponentView {
  component: string;
  kind: string;
  name: string | null;
  state: "ok" | "trouble";
  nodes: number | null;
  code: string | null;
  reason: string | null;
  since: number | null;
}

export interface Disk {
  mount: string;
  used_bytes: number | null;
  total_bytes: number | null;
}

export interface EnrolmentAnswer {
  node: string;
  token: string;
}

export interface EnrolmentRequest {
  code: string;
}

export interface FleetView {
  at: number;
  tier: "names" | "counts";
  nodes: (NodeView)[];
  sources_unknown: number;
}

export interface FreeAnswer {
  at: number;
  enough: boolean;
  wanted: number;
  free: number;
  cannot_tell: number;
  nodes_unknown: number;
  sources_unknown: number;
  could_be_enough: boolean;
  blocks: (FreeBlock)[];
}

export interface FreeBlock {
  node: string;
  display_name: string | null;
  model: string | null;
  labels: (string)[];
  indexes: (number)[];
  uuids: (string)[];
  memory_total_bytes: number | null;
  just_freed: number;
  numbers_known: boolean;
  chosen: number;
}

export interface Gone {
  nodes: (string)[];
  gpus: (string)[];
}

export interface GpuProcess {
  pid: number;
  started_at: number | null;
  user: string | null;
  uid: number | null;
  memory_used_bytes: number | null;
  kind: "compute" | "graphics" | "both" | null;
  program: string | null;
  arguments: string | null;
  state: "running" | "sleeping" | "disk-wait" | "stopped" | "zombie" | "gone" | null;
  children: (number)[];
}

export interface GpuReading {
  uuid: string;
  index: number;
  uuid_is_synthetic: boolean;
  vendor: string;
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
  throttle_reasons: (string)[] | null;
  ecc_enabled: boolean | null;
  ecc_corrected_errors: number | null;
  ecc_uncorrected_errors: number | null;
  pcie_bus_id: string | null;
  pcie_generation: number | null;
  pcie_width: number | null;
  nvlink_active: number | null;
  nvlink_total: number | null;
  persistence_mode: boolean | null;
  mig_parent_uuid: string | null;
  mig_profile: string | null;
  mig_enabled: boolean;
  processes: (GpuProcess)[] | null;
}

export interface GpuRow {
  uuid: string;
  node: string;
  index: number;
  label: string;
  counted: boolean;
  model: string | null;
  driver_model: string | null;
  memory_unified: boolean;
  mig_parent_uuid: string | null;
  mig_profile: string | null;
  verdict: "booked" | "broken" | "busy" | "free" | "idle" | "stale" | "unknown";
  since: number | null;
  reason: Reason;
  flags: ("hot" | "orphaned_memory" | "throttled" | "trespass")[];
  utilization_percent: number | null;
  utilization_minute_percent: number | null;
  memory_used_bytes: number | null;
  memory_total_bytes: number | null;
  temperature_celsius: number | null;
  power_watts: number | null;
  power_limit_watts: number | null;
  users: (HolderView)[] | null;
  claim: ClaimView | null;
  ended_claim: ClaimView | null;
}

export interface GpuView {
  uuid: string;
  node: string;
  label: string;
  counted: boolean;
  model: string | null;
  verdict: Verdict;
  users: (HolderView)[] | null;
  claim: ClaimView | null;
  ended_claim: ClaimView | null;
  reading: GpuReading;
}

export interface Heartbeat {
  kind: "heartbeat";
  sequence: number;
  at: number;
}

export interface HolderView {
  name: string;
  user: string | null;
  uid: number | null;
  memory_used_bytes: number | null;
  since: number | null;
  processes: number;
  measured: number;
}

export interface Holding {
  node: string;
  display_name: string | null;
  labels: (string)[];
  indexes: (number)[];
  uuids: (string)[];
}

export interface HostFacts {
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
  disks: (Disk)[];
  addresses: (Address)[];
  driver_version: string | null;
  cuda_version: string | null;
  agent_version: string | null;
}

export interface ModelSummary {
  model: string | null;
  gpus: number;
  free: number;
}

export interface NodeRow {
  name: string;
  display_name: string | null;
  groups: (string)[];
  address: string | null;
  state: "error" | "late" | "live" | "lost" | "never" | "refused";
  reason: Reason | null;
  source: string;
  sampled_at: number | null;
  interval_seconds: number;
  clock_offset_seconds: number | null;
  problems: (Problem)[];
  cpu_count: number | null;
  load_percent: number | null;
  memory_used_bytes: number | null;
  memory_total_bytes: number | null;
  disk_used_percent: number | null;
  gpus_known: boolean;
  gpus_missing: number;
  numbers_known: boolean;
}

export interface NodeView {
  name: string;
  display_name: string | null;
  groups: (string)[];
  state: "live" | "late" | "lost" | "never" | "refused" | "error";
  reason: Reason | null;
  source: string;
  sampled_at: number | null;
  received_at: number | null;
  interval_seconds: number;
  clock_offset_seconds: number | null;
  problems: (Problem)[];
  host: HostFacts | null;
  gpus_known: boolean;
  gpus: (GpuView)[];
}

export interface People {
  at: number;
  tier: string;
  people: (Person)[] | null;
  hint: string | null;
}

export interface Person {
  user: string;
  gpus: number;
  idle_gpus: number;
  memory_bytes: number;
  processes: number;
  holdings: (Holding)[];
  booked_gpus: number;
  booked: (Holding)[];
}

export interface Problem {
  kind: string;
  text: string;
  remedy: string;
  detail: string | null;
  gpu_uuid: string | null;
  since: number | null;
}

export interface ProblemDocument {
  title: string;
  status: number;
  detail: string;
  type: string;
}

export interface Readiness {
  ready: boolean;
  ok: boolean;
  nodes: number | null;
  nodes_live: number | null;
  components: (ComponentView)[] | null;
}

export interface Reason {
  code: string;
  text: string;
  values: Record<string, unknown>;
}

export interface Snapshot {
  stream: string;
  sequence: number;
  at: number;
  tier: "names" | "counts";
  board: BoardInfo;
  nodes: Record<string, (unknown)[]>;
  gpus: Record<string, (unknown)[]>;
  troubles: (ComponentView)[];
  sources_unknown: number;
  kind: "snapshot";
}

export interface Summary {
  at: number;
  nodes: number;
  nodes_live: number;
  nodes_unknown: number;
  sources_unknown: number;
  gpus_known: boolean;
  gpus: number;
  by_verdict: Record<string, number>;
  by_model: (ModelSummary)[];
  memory_used_bytes: number;
  memory_total_bytes: number;
  power_watts: number;
  gpus_with_power: number;
}

export interface Verdict {
  word: "free" | "busy" | "idle" | "booked" | "stale" | "broken" | "unknown";
  reason: Reason;
  since: number | null;
  flags: ("trespass" | "hot" | "throttled" | "orphaned_memory")[];
}
