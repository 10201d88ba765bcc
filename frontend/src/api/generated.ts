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

export interface AnyGpus {
  gpus: number;
  memory: string;
  model: string | null;
  same_node: boolean;
}

export interface AuditEntry {
  id: string;
  at: number;
  who: string | null;
  what: string;
  way: string | null;
  through: string | null;
  address: string | null;
  detail: string | null;
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
  absences: (string)[];
  contact: string | null;
  time_zone: string | null;
  history: HistoryInfo | null;
}

export interface BookedPlaces {
  node: string;
  gpus: (number)[] | null;
}

export interface BookingAnswer {
  booking: BookingView;
  notes: (Reason)[];
  displaced: (BookingView)[];
}

export interface BookingChange {
  places: (WantedPlaces)[] | null;
  start: number | string | null;
  end: number | string | null;
  extend_seconds: number | null;
  comment: string | null;
  revision: number | null;
}

export interface BookingList {
  at: number;
  tier: "names" | "counts";
  bookings: (BookingView)[];
  tomorrow: number;
  is_cut: boolean;
  elsewhere: (ElsewhereView)[];
}

export interface BookingView {
  id: string | null;
  kind: "booking" | "block";
  who: string | null;
  places: (BookedPlaces)[];
  start: number;
  end: number;
  state: "upcoming" | "running" | "ended" | "cancelled" | "released" | "displaced";
  outcome: "cancelled" | "released" | "displaced" | null;
  comment: string | null;
  created_at: number | null;
  through: string | null;
  revision: number | null;
  is_mine: boolean;
  may_change: boolean;
  use: UseView | null;
  no_show: boolean;
  given_back_at: number | null;
}

export interface BookingWish {
  places: (WantedPlaces)[];
  any: AnyGpus | null;
  start: number | string | null;
  end: number | string | null;
  for_seconds: number | null;
  comment: string;
  kind: "booking" | "block";
  who: string | null;
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
  is_unverified: boolean;
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

export interface ElsewhereView {
  node: string;
  gpu: number | null;
  who: string | null;
  start: number | null;
  until: number | null;
  comment: string | null;
  is_unverified: boolean;
}

export interface EnrolmentAnswer {
  node: string;
  token: string;
}

export interface EnrolmentRequest {
  code: string;
}

export interface EpisodeView {
  gpu: string;
  node: string;
  label: string;
  person: string | null;
  program: string | null;
  from: number;
  to: number | null;
  memory_peak_bytes: number | null;
  utilization_mean_percent: number | null;
  began_before: boolean;
}

export interface EpisodesAnswer {
  episodes: (EpisodeView)[];
}

export interface EventView {
  node: string | null;
  gpu: string | null;
  kind: string;
  text: string | null;
  from: number;
  to: number | null;
  detail: string | null;
}

export interface EventsAnswer {
  events: (EventView)[];
}

export interface FeedView {
  created_at: number | null;
  last_used_at: number | null;
  path: string | null;
}

export interface FleetView {
  at: number;
  tier: "names" | "counts";
  nodes: (NodeView)[];
  sources_unknown: number;
  title: string | null;
}

export interface FreeAnswer {
  at: number;
  enough: boolean;
  wanted: number;
  free: number;
  cannot_tell: number;
  bookings_unread: number;
  nodes_unknown: number;
  sources_unknown: number;
  could_be_enough: boolean;
  blocks: (FreeBlock)[];
  fits_from: number | null;
  fits_on: string | null;
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
  free_until: number | null;
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
  flags: ("hot" | "no_show" | "orphaned_memory" | "throttled" | "trespass")[];
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

export interface HistoryAnswer {
  from: number;
  to: number;
  step_seconds: number;
  tier: "full" | "minutes" | "hours";
  times: (number)[];
  series: (HistorySeries)[];
  paused: (SpanView)[];
}

export interface HistoryInfo {
  since: number | null;
  paused: boolean;
}

export interface HistorySeries {
  gpu: string | null;
  node: string | null;
  label: string | null;
  figure: string;
  mean: (number | null)[];
  least: (number | null)[] | null;
  most: (number | null)[] | null;
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

export interface HourOfWeek {
  weekday: number;
  hour: number;
  percent: number;
}

export interface LimitView {
  policy: "longest" | "ahead" | "gpus_at_once" | "hours_per_week";
  most: number;
  left: number | null;
  group: string | null;
}

export interface LimitsView {
  limits: (LimitView)[];
  week_start: number;
  week_end: number;
  weeks: (WeekView)[];
}

export interface LinkUse {
  code: string;
}

export interface LinkView {
  person: string;
  through: string | null;
  kind: "sign-in" | "set-up";
  expires_at: number;
}

export interface LoginGrant {
  person: string;
  role: "anonymous" | "viewer" | "user" | "admin";
  through: string | null;
  code: string;
  code_expires_at: number;
  token: string | null;
  token_expires_at: number | null;
  plaintext_allowed: boolean;
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

export interface OpenSession {
  id: string;
  way: "node" | "socket" | "password" | "oidc" | "proxy" | "token" | "demo";
  through: string | null;
  created_at: number;
  last_used_at: number;
  address: string | null;
  is_this: boolean;
}

export interface PasswordSignIn {
  name: string;
  password: string;
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
  held_gpus: number;
  total_gpus: number;
}

export interface PersonMeans {
  name: string;
  group: string | null;
  means: (UsageMean)[];
}

export interface Problem {
  kind: string;
  text: string;
  remedy: string;
  detail: string | null;
  gpu_uuid: string | null;
  place: string | null;
  since: number | null;
}

export interface ProblemDocument {
  title: string;
  status: number;
  detail: string;
  type: string;
  code: string | null;
  values: Record<string, unknown> | null;
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

export interface SessionView {
  person: string | null;
  display_name: string | null;
  role: "anonymous" | "viewer" | "user" | "admin";
  tier: "names" | "counts" | null;
  way: "node" | "socket" | "password" | "oidc" | "proxy" | "token" | "demo" | null;
  through: string | null;
  since: number | null;
  expires_at: number | null;
  csrf: string;
  ways: (WayCard)[];
  needs_https: boolean;
  plaintext_allowed: boolean;
  has_admin: boolean;
}

export interface SetUp {
  code: string;
  password: string;
}

export interface SignOut {
  everywhere: boolean;
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

export interface SpanView {
  from: number;
  to: number;
}

export interface StateView {
  from: number;
  to: number;
  verdict: "free" | "busy" | "idle" | "booked" | "stale" | "broken" | "unknown" | null;
  users: (string)[] | null;
}

export interface StatesAnswer {
  from: number;
  to: number;
  states: (StateView)[];
  learnt_later: (SpanView)[];
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

export interface TokenView {
  id: string;
  person: string;
  name: string;
  scopes: ("read" | "book" | "metrics" | "admin")[];
  created_at: number;
  last_used_at: number | null;
  expires_at: number | null;
  token: string | null;
}

export interface TokenWish {
  name: string;
  scopes: ("read" | "book" | "metrics" | "admin")[];
  expires_in_seconds: number | null;
}

export interface TrackAnswer {
  times: (number)[];
  step_seconds: number;
  free: (number | null)[];
  busy: (number | null)[];
  counted: (number | null)[];
  events: (TrackEvent)[];
}

export interface TrackEvent {
  at: number;
  kind: string;
  node: string | null;
}

export interface UsageAnswer {
  from: number;
  to: number;
  by: "person" | "group" | "program" | "model" | "node" | "week";
  gpus: number;
  observed_percent: number | null;
  text: string;
  total: UsageTotal;
  rows: (UsageRow)[];
  is_alone: boolean;
  currency: string | null;
  asked_from: number | null;
  asked_to: number | null;
  title: string | null;
  time_zone: string | null;
}

export interface UsageAveragesAnswer {
  at: number;
  windows: (UsageWindow)[];
  total: (UsageMean)[];
  free: (number | null)[];
  people: (PersonMeans)[];
}

export interface UsageDay {
  day: string;
  used_ms: number | null;
  idle_ms: number | null;
  booked_ms: number | null;
}

export interface UsageDaysAnswer {
  from: number;
  to: number;
  person: string;
  used_ms: number;
  idle_ms: number;
  booked_ms: number;
  days: (UsageDay)[];
  hint: string | null;
}

export interface UsageHoursAnswer {
  from: number;
  to: number;
  percent: ((number | null)[])[];
  fullest: HourOfWeek | null;
  emptiest: HourOfWeek | null;
}

export interface UsageMean {
  hours: number;
  used: number | null;
  reserved: number | null;
  trend: "up" | "level" | "down" | null;
}

export interface UsageRow {
  previous_used_ms: number | null;
  weighted_ms: number | null;
  memory_gib_hours: number | null;
  price: number | null;
  reserved_ms: number | null;
  reserved_used_ms: number | null;
  name: string | null;
  used_ms: number;
  idle_ms: number;
  booked_ms: number;
  free_ms: number | null;
  broken_ms: number | null;
  unobserved_ms: number | null;
  group: string | null;
  people: (UsageRow)[] | null;
}

export interface UsageTotal {
  previous_used_ms: number | null;
  weighted_ms: number | null;
  memory_gib_hours: number | null;
  price: number | null;
  reserved_ms: number | null;
  reserved_used_ms: number | null;
  span_ms: number;
  used_ms: number;
  idle_ms: number;
  booked_ms: number;
  free_ms: number;
  broken_ms: number;
  unobserved_ms: number;
}

export interface UsageWindow {
  hours: number;
  from: number;
  to: number;
}

export interface UseView {
  used_seconds: number;
  others_seconds: number;
  unused_seconds: number;
  unobserved_seconds: number;
}

export interface Verdict {
  word: "free" | "busy" | "idle" | "booked" | "stale" | "broken" | "unknown";
  reason: Reason;
  since: number | null;
  flags: ("trespass" | "no_show" | "hot" | "throttled" | "orphaned_memory")[];
}

export interface VouchQuestion {
  uid: number;
  name: string;
  terminal: string;
  is_link_only: boolean;
}

export interface WantedPlaces {
  node: string;
  gpus: (number)[] | null;
}

export interface WayCard {
  kind: "node" | "password" | "oidc" | "proxy";
  label: string;
  href: string | null;
}

export interface WeekView {
  start: number;
  end: number;
  left: number | null;
}
