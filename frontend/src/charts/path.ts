/** Lines for values of 0 to 100 on a square of 100; unknown values leave a gap. */
export function linePath(values: (number | null)[]): { line: string; area: string } {
  const width = 100 / Math.max(1, values.length - 1);
  let line = '';
  let area = '';
  let run: string[] = [];
  let first = 0;
  const close = (last: number) => {
    if (!run.length) return;
    line += `M${run.join('L')}${run.length === 1 ? 'h.01' : ''}`;
    area += `M${round(first * width)} 100L${run.join('L')}L${round(last * width)} 100Z`;
    run = [];
  };
  values.forEach((value, place) => {
    if (value === null) {
      close(place - 1);
      return;
    }
    if (!run.length) first = place;
    // Kept off the very edge, where half the stroke would be cut.
    run.push(`${round(place * width)} ${round(98 - Math.max(0, Math.min(100, value)) * 0.96)}`);
  });
  close(values.length - 1);
  return { line, area };
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
