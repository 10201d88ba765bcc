/** Every sentence that the board needs at once. `{name}` is filled in; an entry with `one` and `other` chooses by `{count}`. */
export const words = {
  // Verdicts, as words in cells and chips
  free: 'free',
  busy: 'busy',
  idle: 'idle',
  booked: 'booked',
  stale: 'stale',
  broken: 'broken',
  unknown: 'unknown',
  all: 'All',
  verdicts: 'Verdicts',

  // Flags
  flag_trespass: 'used by someone else than who booked it',
  flag_hot: 'hot',
  flag_throttled: 'slowed down by heat or power',
  flag_orphaned_memory: 'memory held by no visible process',

  // Shell
  board: 'Board',
  people: 'People',
  mine: 'Mine',
  more: 'More',
  pages: 'Pages',
  searchLabel: 'Filter the board',
  searchHint: 'node, user, model, memory>=40G, free>=4',
  skip: 'Skip to the GPUs',
  demo: 'Demo: an invented fleet. Nothing here is real.',
  missingPage: 'There is no such page.',
  toBoard: 'Back to the board',
  partMissing: 'This part of the page could not be loaded; the board may have been updated.',
  partAway:
    'This part of the page was not loaded before the board went away; it comes when the board is back.',
  notices: 'Notices',
  reload: 'Reload',

  // Connection
  live: 'Live',
  connecting: 'Connecting…',
  reconnecting: 'Reconnecting',
  refused: 'Refused',
  paused: 'Paused',
  resume: 'Resume',
  retryNow: 'Try now',
  connectionMenu: 'Connection: {state}',
  bannerReconnecting: 'No connection to the board. This is how things stood at {time}, {ago} ago.',
  bannerPaused: 'Paused. This is how things stood at {time}, {ago} ago.',
  bannerRefused: 'The board refuses this page. This is how things stood at {time}, {ago} ago.',
  restarted: 'The board restarted at {time}; the page is up to date again.',
  nextTry: 'Next try in {time}.',
  why_unreachable: 'The board does not answer.',
  why_restarting: 'The board is restarting.',
  why_crowded: 'The board has too many viewers; it asked to try later.',
  why_refused: 'The board does not let this page in.',
  why_silent: 'The board fell silent.',
  why_gap: 'A message got lost.',

  // The answer
  freeNow: 'Free now',
  ofGpusFree: { one: 'of {count} GPU free', other: 'of {count} GPUs free' },
  nodes: { one: '{count} node', other: '{count} nodes' },
  gpus: { one: '{count} GPU', other: '{count} GPUs' },
  gpusStale: { one: '{count} GPU stale', other: '{count} GPUs stale' },
  gpusBroken: { one: '{count} broken', other: '{count} broken' },
  gpusUnknown: { one: '{count} unknown', other: '{count} unknown' },
  attention: { one: '{count} node needs a look', other: '{count} nodes need a look' },
  attentionAll: 'All of it, with what to do',
  nLate: '{count} late',
  heardSoFar: '{heard} of {count} nodes heard so far',
  totalsSpoken: '{free} of {total} GPUs free, {idle} idle, {stale} stale.',
  takeOne: 'Take one of these',
  copy: 'Copy',
  copied: 'Copied',
  copyFailed: 'Not allowed',
  copyBlock: 'Copy the command for {node}',
  largestBlock: { one: 'Largest free block: {count} GPU.', other: 'Largest free block: {count} GPUs.' },
  mostMemory: 'Most free memory: {memory} ({node}).',
  moreBlocks: { one: '{count} more node', other: '{count} more nodes' },
  freeSince: 'free since {time}',
  freeSinceUnknown: 'since when unknown',
  justFreed: 'just freed',
  plusFreed: { one: '+{count} just freed', other: '+{count} just freed' },
  freshExplained: 'Just freed (under {time}) comes last: its user may only be restarting.',
  whoHas: 'Who has the others',
  idleExplained: 'Striped: memory held, no work',
  notKnownYet: 'Not known yet',
  nodesUnread: { one: '{count} node not read yet', other: '{count} nodes not read yet' },
  nobodyHas: 'Nobody holds a GPU.',
  namesHidden: 'Names are hidden from visitors.',
  namesHiddenHow: 'To see who, open the board on its own machine, or ask its administrator for {setting}.',
  nIdle: { one: '{count} idle', other: '{count} idle' },
  nBooked: { one: '{count} booked', other: '{count} booked' },
  everybody: 'Everybody',

  // The same by old data: then nothing is offered. “was_” before a key stands for it.
  freeUnknown: '? free',
  was_free: 'was free',
  was_freeNow: 'Were free',
  was_ofGpusFree: { one: 'of {count} GPU was free', other: 'of {count} GPUs were free' },
  was_takeOne: 'These were free',
  was_largestBlock: { one: 'Largest block: {count} GPU.', other: 'Largest block: {count} GPUs.' },
  was_mostMemory: 'Most memory: {memory} ({node}).',
  was_freeSince: 'was free since {time}',
  was_justFreed: 'had just been freed',
  was_plusFreed: { one: '+{count} that had just been freed', other: '+{count} that had just been freed' },
  was_nFree: { one: '{count} was free', other: '{count} were free' },

  // Tools
  arrange: 'Arrange',
  sort_free: 'most free',
  sort_name: 'name',
  sort_use: 'busiest',
  sort_memory: 'most free memory',
  sort_temperature: 'hottest',
  density: 'View',
  cards: 'Cards',
  rows: 'Rows',
  map: 'Map',
  shownOf: '{shown} of {total} GPUs',
  flagLegend: 'needs a look',

  // Rows
  node: 'Node',
  gpu: 'GPU',
  host: 'Host',
  nFree: { one: '{count} free', other: '{count} free' },
  lastSeenAt: 'last seen {time}',
  neverSeen: 'never seen',
  dataAge: '{ago} ago',
  until: 'until {time}',
  // The same in a cell, before a time: as short as it can be.
  to: 'until',
  bookedNow: 'booked · {who}',
  ended: 'ended {ago} ago',
  gpusNotKnown: 'GPUs not known',
  notCounted: 'not counted',
  clockAhead: '{time} ahead of the board',
  clockBehind: '{time} behind the board',
  noGpus: 'no GPU',
  cpuLoad: 'load {percent} %',
  ram: 'RAM {percent} %',
  noModel: 'Unknown model',
  nobody: 'Nobody',
  gpuTable: 'GPUs by node',

  // Filter errors
  error_unknownKey: '“{text}” is not a word this filter knows.',
  error_badNumber: '“{text}” needs a number, like memory>=40G, use<5 or since>2h.',
  error_badWord: '“{text}” is not a verdict.',
  error_openQuote: 'A quote is still open: {text}',
  error_kept: 'The rest of the filter holds.',

  // Detail
  use: 'Use',
  memory: 'Memory',
  user: 'User',

  // Node page
  state_live: 'live',
  state_late: 'late',
  state_lost: 'lost',
  state_never: 'never seen',
  state_refused: 'refused',
  state_error: 'error',

  // GPU page
  model: 'Model',

  // Reasons of a verdict
  reason_late: 'No report for {time}: the node is late.',
  reason_lost: 'No report for {time}: the node is lost.',
  reason_never: 'Has never reported since the board started.',
  reason_refused: 'The node refused the board.',
  reason_error: 'The last report could not be read: {detail}',
  'short_gpu-lost': 'off the bus',
  'short_driver-hung': 'hung',
  'short_driver-mismatch': 'driver',
  'short_ecc-uncorrected': 'ECC',

  // Durations
  seconds: '{n} s',
  minutes: '{n} min',
  hours: '{n} h',
  hoursMinutes: '{h}\u00a0h\u00a0{m}',
  days: '{n} d',
  justNow: 'just now',
} as const satisfies Entries;

export type Entries = Record<string, string | { one: string; other: string }>;
export type Translated<Original> = {
  [K in keyof Original]: Original[K] extends string ? string : { one?: string; other: string };
};
export type Words = Translated<typeof words>;
