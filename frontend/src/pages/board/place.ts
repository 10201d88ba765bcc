const MARGIN = 8;
// Two lines of a tip.
const TIP = 64;

export interface TipPlace {
  left: number;
  top: number | null;
  bottom: number | null;
}

/** Where a tip goes: below what it explains, above where the screen ends, never off its sides. */
export function placeTip(
  anchor: DOMRect,
  width: number,
  screen = { width: innerWidth, height: innerHeight },
): TipPlace {
  const left = Math.max(MARGIN, Math.min(anchor.left, screen.width - width - MARGIN));
  return screen.height - anchor.bottom >= TIP + MARGIN
    ? { left, top: anchor.bottom + MARGIN, bottom: null }
    : { left, top: null, bottom: screen.height - anchor.top + MARGIN };
}

/** By how much the page must move up so that a panel of this height at the foot of the screen does not cover it. */
export function hiddenBelow(
  anchor: Pick<DOMRect, 'bottom'>,
  height: number,
  screenHeight = innerHeight,
): number {
  return Math.max(0, anchor.bottom + 2 * MARGIN - (screenHeight - height));
}
