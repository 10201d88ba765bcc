import { widthOf } from '../../text/width';

/** Which words fit into so many pixels in the finest letters, the first that do. Pure. */

const LETTER = 7;
const EDGES = 10;

export function fitting(words: string[], pixels: number): string | undefined {
  return words.find((each) => LETTER * widthOf(each) + EDGES < pixels);
}
