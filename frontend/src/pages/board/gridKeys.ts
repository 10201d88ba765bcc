import type { Row } from '../../state/arrange';
import type { App } from '../../state/context';
import { going } from '../shell/going';

export interface GridPlace {
  row: number;
  place: number;
}

const MOVES: Record<string, [rows: number, places: number]> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  PageUp: [-10, 0],
  PageDown: [10, 0],
};
const LETTERS: Record<string, string> = { h: 'ArrowLeft', j: 'ArrowDown', k: 'ArrowUp', l: 'ArrowRight' };

/** The arrow that a key stands for, or the key itself. */
export function arrowOf(key: string, letters: boolean): string {
  return (letters && !going.timer ? LETTERS[key] : undefined) ?? key;
}

/** Where a key leads in the table of GPUs; null if it leads nowhere. Only shown GPUs are stepped on. */
export function step(
  rows: Row[],
  from: GridPlace,
  key: string,
  letters: boolean,
  toEnds: boolean,
): GridPlace | null {
  const name = arrowOf(key, letters);
  const shown = (row: number) => {
    const at = rows[row];
    return at ? at.node.gpus.flatMap((gpu, place) => (at.shown.has(gpu) ? [place] : [])) : [];
  };
  if (name === 'Home' || name === 'End') {
    const row = toEnds ? (name === 'Home' ? 0 : rows.length - 1) : from.row;
    const places = shown(row);
    const place = name === 'Home' ? places[0] : places.at(-1);
    return place === undefined ? null : { row, place };
  }
  const move = MOVES[name];
  if (!move) return null;
  const [down, right] = move;
  if (right) {
    const places = shown(from.row);
    const next = places[places.indexOf(from.place) + right];
    return next === undefined ? null : { row: from.row, place: next };
  }
  // Rows without a shown GPU are stepped over.
  for (let row = Math.max(0, Math.min(rows.length - 1, from.row + down)); rows[row]; row += Math.sign(down)) {
    const places = shown(row);
    if (row !== from.row && places.length) {
      const place = places.reduce((best, each) =>
        Math.abs(each - from.place) < Math.abs(best - from.place) ? each : best,
      );
      return { row, place };
    }
  }
  return null;
}

/** Act on a key pressed in a cell: open it, or say which cell comes next. */
export function navigate(event: KeyboardEvent, rows: Row[], app: App): { row: string; uuid: string } | null {
  const cell = (event.target as Element).closest<HTMLElement>('[data-uuid]');
  if (event.altKey || event.metaKey) return null;
  if (!cell) return fromName(event, rows, app);
  const line = cell.closest<HTMLElement>('[data-row]');
  const rowKey = line?.dataset['row'];
  const uuid = cell.dataset['uuid']!;
  if (event.key === 'Enter' || event.key === ' ') {
    event.preventDefault();
    app.selection.pin(uuid, cell.getBoundingClientRect());
  }
  const row = rows.findIndex((each) => each.key === rowKey);
  const place = rows[row]?.node.gpus.findIndex((gpu) => gpu.record.uuid === uuid) ?? 0;
  const letters = app.preferences.letterKeys && !event.ctrlKey;
  const next = step(rows, { row, place }, event.key, letters, event.ctrlKey);
  if (!next && arrowOf(event.key, letters) === 'ArrowLeft') return toName(event, line);
  const target = next && rows[next.row];
  if (!target) return null;
  event.preventDefault();
  return { row: target.key, uuid: target.node.gpus[next.place]!.record.uuid };
}

/** Left of the first GPU stands the name of its node, which Enter opens. */
function toName(event: KeyboardEvent, line: Element | null | undefined): null {
  const name = line?.querySelector<HTMLElement>('[role="rowheader"] a');
  if (!name) return null;
  event.preventDefault();
  name.focus({ preventScroll: true });
  line!.scrollIntoView({ block: 'nearest' });
  return null;
}

/** A key pressed on the name of a node: to other names, or back into its GPUs. */
function fromName(event: KeyboardEvent, rows: Row[], app: App): { row: string; uuid: string } | null {
  const line = (event.target as Element).closest('[role="rowheader"]')?.closest<HTMLElement>('[data-row]');
  if (!line || event.ctrlKey) return null;
  const arrow = arrowOf(event.key, app.preferences.letterKeys);
  const at = rows.findIndex((each) => each.key === line.dataset['row']);
  if (arrow === 'ArrowRight') {
    const first = rows[at]?.node.gpus.find((gpu) => rows[at]!.shown.has(gpu));
    if (!first) return null;
    event.preventDefault();
    return { row: rows[at]!.key, uuid: first.record.uuid };
  }
  const next = rows[at + (arrow === 'ArrowDown' ? 1 : arrow === 'ArrowUp' ? -1 : NaN)];
  if (!next) return null;
  const root = line.closest('[role="grid"]');
  return toName(event, root?.querySelector(`[data-row="${CSS.escape(next.key)}"]`));
}
