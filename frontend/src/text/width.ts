/** How many letters have as much room as a text; Chinese takes two places. */
export function widthOf(text: string): number {
  return text.length + (text.match(/[\u2e80-\uffdc]/g)?.length ?? 0);
}
