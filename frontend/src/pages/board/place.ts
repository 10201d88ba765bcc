const MARGIN = 8;
// Enough for a GPU with a few processes; less is only taken where neither side has it.
const COMFORTABLE = 420;

export interface Place {
  left: number;
  top: number | null;
  bottom: number | null;
  maxHeight: number;
}

/**
 * Where a panel goes: below what it explains, above if there is more room, never off the screen.
 * It depends on the room and not on the content, so that it stays put while the content arrives.
 */
export function placeBeside(
  anchor: DOMRect | null,
  width: number,
  screen = { width: innerWidth, height: innerHeight },
): Place {
  if (!anchor)
    return {
      left: (screen.width - width) / 2,
      top: screen.height / 8,
      bottom: null,
      maxHeight: screen.height * 0.75,
    };
  const left = Math.max(MARGIN, Math.min(anchor.left, screen.width - width - MARGIN));
  const below = screen.height - anchor.bottom - 2 * MARGIN;
  const above = anchor.top - 2 * MARGIN;
  if (below >= COMFORTABLE || below >= above)
    return { left, top: anchor.bottom + MARGIN, bottom: null, maxHeight: below };
  return { left, top: null, bottom: screen.height - anchor.top + MARGIN, maxHeight: above };
}
