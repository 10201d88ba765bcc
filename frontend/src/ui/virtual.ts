/** Where each item of a long list begins, and at the end its whole height. */
export function tops<Item>(items: Item[], height: (item: Item) => number): number[] {
  const result = [0];
  let top = 0;
  for (const item of items) result.push((top += height(item)));
  return result;
}

/** The items between two heights of the list. */
export function visibleRange(offsets: number[], from: number, to: number): { start: number; end: number } {
  const count = offsets.length - 1;
  const start = Math.max(0, Math.min(count, search(offsets, from) - 1));
  const end = Math.max(start, Math.min(count, search(offsets, to)));
  return { start, end };
}

/** How many offsets are at or below a height. */
function search(offsets: number[], height: number): number {
  let low = 0;
  let high = offsets.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (offsets[middle]! <= height) low = middle + 1;
    else high = middle;
  }
  return low;
}
