const MARGIN = 8;

/** Where a panel goes: below what it explains, above if there is no room, never off the screen. */
export function placeBeside(
  anchor: DOMRect | null,
  width: number,
  height: number,
  screen = { width: innerWidth, height: innerHeight },
): { left: number; top: number } {
  if (!anchor)
    return { left: (screen.width - width) / 2, top: Math.max(MARGIN, (screen.height - height) / 2) };
  const left = Math.max(MARGIN, Math.min(anchor.left, screen.width - width - MARGIN));
  const below = anchor.bottom + MARGIN;
  if (below + height <= screen.height - MARGIN) return { left, top: below };
  const above = anchor.top - height - MARGIN;
  if (above >= MARGIN) return { left, top: above };
  // Neither fits: beside it, so that the cell itself stays visible.
  const beside =
    anchor.right + MARGIN + width <= screen.width ? anchor.right + MARGIN : anchor.left - width - MARGIN;
  return { left: Math.max(MARGIN, beside), top: Math.max(MARGIN, screen.height - height - MARGIN) };
}
