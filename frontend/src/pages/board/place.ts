const MARGIN = 8;
// Two lines of a tip.
const TIP = 64;

export interface Place {
  left: number;
  top: number | null;
  bottom: number | null;
}

/** Where a tip goes: below what it explains, above where the screen ends, never off its sides. */
export function placeTip(
  anchor: DOMRect,
  width: number,
  screen = { width: innerWidth, height: innerHeight },
): Place {
  const left = Math.max(MARGIN, Math.min(anchor.left, screen.width - width - MARGIN));
  return screen.height - anchor.bottom >= TIP + MARGIN
    ? { left, top: anchor.bottom + MARGIN, bottom: null }
    : { left, top: null, bottom: screen.height - anchor.top + MARGIN };
}

/** Where a docked panel begins: under the answers on top of the board, as far as these are seen. */
export function dockTop(side: 'left' | 'right', answers: DOMRect | undefined): number {
  return side === 'left' ? Math.max(0, answers?.bottom ?? 0) : 0;
}

/** At which edge a panel is docked: at the right one, unless it would cover what it is about. */
export function dockSide(anchor: DOMRect | null, width: number, screenWidth = innerWidth): 'left' | 'right' {
  const room = width + 3 * MARGIN;
  return anchor && anchor.right > screenWidth - room && anchor.left >= room ? 'left' : 'right';
}
