/** The slider's track as lines: how many were free, and where nobody looked. Pure. */

import type { PastSpan, TrackAnswer } from '../../api/history';

export interface TrackLines {
  /** Stretches that were observed, as shares of the slider. */
  seen: { left: number; width: number }[];
  /** Paths on a field of 1000 by 100. */
  line: string;
  area: string;
  most: number;
}

const WIDE = 1000;

export function trackLines(track: TrackAnswer, { from, to }: PastSpan): TrackLines {
  const most = Math.max(1, ...track.free.map((count) => count ?? 0));
  const x = (at: number) => (Math.min(1, Math.max(0, (at - from) / (to - from))) * WIDE).toFixed(1);
  const y = (count: number) => (96 - (count / most) * 82).toFixed(1);
  const lines: TrackLines = { seen: [], line: '', area: '', most };
  let run: string[] = [];
  let [begin, end] = [0, 0];
  const close = () => {
    if (!run.length) return;
    lines.line += `M${run.join('L')}`;
    lines.area += `M${x(begin)} 100L${run.join('L')}L${x(end)} 100Z`;
    lines.seen.push({ left: Number(x(begin)) / WIDE, width: (Number(x(end)) - Number(x(begin))) / WIDE });
    run = [];
  };
  track.times.forEach((time, place) => {
    const count = track.free[place] ?? null;
    if (count === null || time >= to || time + track.step_seconds <= from) return close();
    if (!run.length) begin = time;
    end = time + track.step_seconds;
    // Steps: a number holds until the next.
    run.push(`${x(time)} ${y(count)}`, `${x(end)} ${y(count)}`);
  });
  close();
  return lines;
}
