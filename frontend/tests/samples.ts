import type { ChangeMessage, Columns, GpuRow, NodeRow, Snapshot } from '../src/api/wire';

export function gpu(change: Partial<GpuRow> = {}): GpuRow {
  return {
    uuid: 'GPU-1',
    node: 'dgx-01',
    index: 0,
    label: '0',
    counted: true,
    model: 'H100',
    driver_model: null,
    memory_unified: false,
    mig_parent_uuid: null,
    mig_profile: null,
    verdict: 'free',
    since: 1000,
    reason: { code: 'free', values: {}, text: 'free' },
    flags: [],
    utilization_percent: 0,
    utilization_minute_percent: 0,
    memory_used_bytes: 0,
    memory_total_bytes: 80 * 2 ** 30,
    temperature_celsius: 40,
    power_watts: 60,
    power_limit_watts: 700,
    users: [],
    claim: null,
    ended_claim: null,
    ...change,
  };
}

export function node(change: Partial<NodeRow> = {}): NodeRow {
  return {
    name: 'dgx-01',
    display_name: null,
    groups: [],
    address: null,
    state: 'live',
    reason: null,
    source: 'simulated',
    sampled_at: 1000,
    interval_seconds: 5,
    clock_offset_seconds: 0,
    problems: [],
    cpu_count: 64,
    load_percent: 10,
    memory_used_bytes: 1,
    memory_total_bytes: 2,
    disk_used_percent: 3,
    gpus_known: true,
    gpus_missing: 0,
    numbers_known: true,
    ...change,
  };
}

export function using(...names: string[]): GpuRow['users'] {
  return names.map((user) => ({
    name: user,
    user,
    uid: 1000,
    memory_used_bytes: 2 ** 30,
    since: 500,
    processes: 1,
    measured: 1,
  }));
}

export function columns<Row extends object>(rows: Row[]): Columns<Row> {
  const result = {} as Columns<Row>;
  for (const row of rows)
    for (const key of Object.keys(row) as (keyof Row)[]) (result[key] ??= []).push(row[key]);
  return result;
}

export function snapshot(nodes: NodeRow[], gpus: GpuRow[], change: Partial<Snapshot> = {}): Snapshot {
  return {
    kind: 'snapshot',
    stream: 'run-1',
    sequence: 1,
    at: 2000,
    tier: 'names',
    board: {
      version: '0.1.0',
      name: 'gpus.lab.example',
      demo: true,
      tick_seconds: 1,
      started_at: 0,
      just_freed_seconds: 300,
      title: null,
      host_lines: [35, 70],
      gpu_lines: [20, 60],
      severities: {
        critical: ['lost', 'error', 'silent-ssh', 'gpu-lost', 'xid', 'driver-mismatch'],
        serious: ['second-file'],
        minor: ['late', 'clock-off'],
      },
      absences: ['silent-ssh'],
      contact: null,
      time_zone: null,
      history: null,
      copy: "ssh -t {address} 'env CUDA_VISIBLE_DEVICES={devices} $SHELL -l'",
    },
    nodes: columns(nodes),
    gpus: columns(gpus),
    troubles: [],
    sources_unknown: 0,
    ...change,
  };
}

export function change(nodes: NodeRow[], gpus: GpuRow[], rest: Partial<ChangeMessage> = {}): ChangeMessage {
  return {
    kind: 'change',
    sequence: 2,
    at: 2001,
    nodes: columns(nodes),
    gpus: columns(gpus),
    gone: { nodes: [], gpus: [] },
    troubles: null,
    sources_unknown: null,
    ...rest,
  };
}
