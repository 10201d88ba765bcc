/** The keys of the cursor in the plots. */

import type { TimeWindow } from '../../state/window.svelte';

interface At {
  cursor: number | null;
  step: number;
  window: Pick<TimeWindow, 'span' | 'zoom' | 'pan'>;
}

/** Where a key leads the cursor, or what else it means; null: it is not for the plots. */
export function cursorKey(event: KeyboardEvent, { cursor, step, window }: At): number | 'rewind' | null {
  if (event.ctrlKey || event.metaKey || event.altKey) return null;
  const { from, to } = window.span;
  const at = cursor ?? to - step / 2;
  const by = step * (event.shiftKey ? 10 : 1);
  const inside = (moment: number) => Math.min(to - step / 2, Math.max(from + step / 2, moment));
  switch (event.key) {
    case 'ArrowLeft':
    case 'ArrowDown':
      return inside(at - by);
    case 'ArrowRight':
    case 'ArrowUp':
      return inside(at + by);
    case 'Home':
      return inside(from);
    case 'End':
      return inside(to);
    case 'PageUp':
    case 'PageDown':
      window.pan(event.key === 'PageUp' ? -0.5 : 0.5);
      return Math.min(window.span.to, Math.max(window.span.from, at));
    case '+':
    case '=':
    case '-':
    case '−':
      window.zoom(event.key === '-' || event.key === '−' ? 2 : 0.5, at);
      return at;
    case 'Enter':
      return 'rewind';
    default:
      return null;
  }
}
