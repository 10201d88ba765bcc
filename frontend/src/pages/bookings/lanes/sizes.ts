/** How high a lane is, and a folded node; the styles hear it from here. */

import { widthOf } from '../../../text/width';
export const LANE = 25;
/** Of a folded node's line, what its bookings may fill. */
export const FILLED = 20;

// A letter of what is bold, in pixels, and what stands around a text.
const LETTER = 7.5;
const AROUND = 6;

/** Whether a text has room in one line: what would be cut is left out whole. */
export const fits = (text: string, pixels: number): boolean => widthOf(text) * LETTER + AROUND <= pixels;
