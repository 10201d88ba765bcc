import type { Row } from '../../state/arrange';

export interface Spot {
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

/** Where a key leads in the table of GPUs; null if it leads nowhere. Only shown GPUs are stepped on. */
export function step(rows: Row[], from: Spot, key: string, letters: boolean, toEnds: boolean): Spot | null {
  const name = (letters ? LETTERS[key] : undefined) ?? key;
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
