/** Every sentence of the page. `{name}` is filled in; an entry with `one` and `other` chooses by `{count}`. */
export const en = {
  // Verdicts, as words in cells and chips
  free: 'free',
  busy: 'busy',
  idle: 'idle',
  booked: 'booked',
  stale: 'stale',
  broken: 'broken',
  unknown: 'unknown',
  all: 'All',

  // Shell
  board: 'Board',
  people: 'People',
  searchLabel: 'Filter the board',
  searchHint: 'Filter: node, user, model, memory>=40G, free>=4',
  skip: 'Skip to the GPUs',
  live: 'Live',
  connecting: 'Connecting…',
  reconnecting: 'Reconnecting',
  paused: 'Paused',
  refused: 'Refused',
  theme: 'Colours: {theme}',
  theme_auto: 'as the system',
  theme_light: 'light',
  theme_dark: 'dark',
  demo: 'Demo: an invented fleet, nothing here is real.',

  // The answer
  freeNow: 'Free now',
  ofGpusFree: { one: 'of {count} GPU', other: 'of {count} GPUs' },
  nodes: { one: '{count} node', other: '{count} nodes' },
  gpus: { one: '{count} GPU', other: '{count} GPUs' },
  gpusStale: { one: '{count} GPU stale', other: '{count} GPUs stale' },
  gpusUnknown: { one: '{count} unknown', other: '{count} unknown' },
  noModelFree: 'No GPU is free right now.',
  verdicts: 'Verdicts',

  // Rows
  node: 'Node',
  gpu: 'GPU',
  host: 'Host',
  mostFreeFirst: 'most free first',
  nFree: { one: '{count} free', other: '{count} free' },
  lastSeen: 'last seen {ago} ago',
  neverSeen: 'never seen',
  dataAge: 'data {ago} old',
  until: 'to {time}',
  bookedNow: 'now · {who}',
  someone: 'someone',
  noGpus: 'no GPU',
  nIdle: { one: '({count} idle)', other: '({count} idle)' },
  cpuLoad: 'CPU load {percent} %',

  // Durations
  seconds: '{n} s',
  minutes: '{n} min',
  hours: '{n} h',
  hoursMinutes: '{h} h {m}',
  days: '{n} d',
  justNow: 'just now',
  ago: '{time} ago',
} as const satisfies Record<string, string | { one: string; other: string }>;

export type Key = keyof typeof en;
export type Words = { [K in Key]: (typeof en)[K] extends string ? string : { one?: string; other: string } };
