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
