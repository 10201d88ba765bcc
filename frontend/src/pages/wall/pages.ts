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
