import type { Row, Section } from '../../state/arrange';

/** What a screen on the wall shows at once. */
export interface WallSheet {
  /** What the rows have in common, where they have something. */
  title: string | null;
  rows: Row[];
}

/** Everything at once where it fits; else section by section, each in sheets of about the same length. */
export function sheets(sections: Section[], room: number): WallSheet[] {
  const rows = sections.flatMap((section) => section.rows);
  if (rows.length <= room) {
    const title = sections.length === 1 ? sections[0]!.title : null;
    return [{ title, rows }];
  }
  return sections.flatMap(({ title, rows }) => {
    const count = Math.ceil(rows.length / Math.max(1, room));
    const each = Math.ceil(rows.length / count);
    return Array.from({ length: count }, (_, place) => ({
      title,
      rows: rows.slice(place * each, (place + 1) * each),
    }));
  });
}

/** How many turns of rows somebody may wait for a node; where there are more, maps are shown. */
export const MOST_TURNS = 6;
// As many nodes as one map can show in squares that are told apart across a room.
const NODES_ON_A_MAP = 250;

/** As few maps as that: small sections together, large ones in maps of about the same size. */
export function maps(sections: Section[], most = NODES_ON_A_MAP): Section[][] {
  const result: Section[][] = [];
  let left = 0;
  for (const section of sections) {
    const count = Math.ceil(section.rows.length / most);
    const each = Math.ceil(section.rows.length / count);
    for (let first = 0; first < section.rows.length; first += each) {
      const part = { ...section, rows: section.rows.slice(first, first + each) };
      left -= part.rows.length;
      if (left >= 0) result.at(-1)!.push(part);
      else {
        result.push([part]);
        left = most - part.rows.length;
      }
    }
  }
  return result;
}
