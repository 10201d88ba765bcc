import type { Columns } from './wire';

/** Turn equally long columns into one record per row; a missing column reads as null. */
export function rows<Row extends object>(columns: Columns<Row> | undefined, key: keyof Row): Row[] {
  if (!columns) return [];
  const fields = Object.keys(columns) as (keyof Row)[];
  const count = columns[key]?.length ?? 0;
  const result = new Array<Row>(count);
  for (let index = 0; index < count; index++) {
    // A copy has room for all fields at once; an empty object would grow with each, thousands of times a second.
    const row = { ...columns } as unknown as Row;
    for (const field of fields) row[field] = columns[field][index] as Row[keyof Row];
    result[index] = row;
  }
  return result;
}
