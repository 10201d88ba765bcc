/** Numbers of GPUs as people read them: "0, 2, 4–7". What is no number, like "0:1" of a MIG instance, stays as it is. */
export function ranges(labels: string[]): string {
  const parts: string[] = [];
  for (let first = 0; first < labels.length;) {
    let last = first;
    while (follows(labels[last]!, labels[last + 1])) last++;
    // Two neighbours are no range yet.
    if (last - first < 2) last = first;
    parts.push(last === first ? labels[first]! : `${labels[first]}–${labels[last]}`);
    first = last + 1;
  }
  return parts.join(', ');
}

function follows(label: string, next: string | undefined): boolean {
  return next !== undefined && /^\d+$/.test(label) && next === String(Number(label) + 1);
}

/** The same in parts, so that some of them can be marked: "0–2, 3, 4–7" is three where GPU 3 is. */
export function markedRanges<Item>(
  items: Item[],
  labelOf: (item: Item) => string,
  isMarked: (item: Item) => boolean,
): { text: string; marked: boolean }[] {
  const runs: { labels: string[]; marked: boolean }[] = [];
  for (const item of items) {
    const marked = isMarked(item);
    const last = runs.at(-1);
    if (last?.marked === marked) last.labels.push(labelOf(item));
    else runs.push({ labels: [labelOf(item)], marked });
  }
  return runs.map(({ labels, marked }) => ({ text: ranges(labels), marked }));
}
