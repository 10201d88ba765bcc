/** How high a lane is, and a folded node; the styles hear it from here. */
export const LANE = 25;
/** Of a folded node's line, what its bookings may fill. */
export const FILLED = 20;
