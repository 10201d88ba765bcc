import type { VerdictWord } from '../api/wire';

/** The sign of each verdict, drawn on 16 × 16; strokes only, so that they survive forced colours and print. */
export const SHAPES: Record<VerdictWord, string> = {
  free: 'M8 3a5 5 0 1 0 0 10a5 5 0 1 0 0-10z',
  busy: 'M3.5 13v-3M8 13V4M12.5 13V7',
  idle: 'M4 3.5h8l-8 9h8',
  booked: 'M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11zM8 5.2V8.2l2.2 1.4',
  stale: 'M5.2 5.6a2.8 2.8 0 1 1 4.4 2.3C8.500 8.600 8 9.100 8 10.200M8 12.900v.2',
  broken: 'M3.800 3.800l8.400 8.400M12.200 3.800l-8.400 8.400',
  unknown: 'M3.500 8h.2M8 8h.2M12.500 8h.2',
};
