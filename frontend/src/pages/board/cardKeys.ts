import type { App } from '../../state/context';
import { arrowOf } from './gridKeys';

/** Which of these cards a key leads to, as they lie on the screen; null if it leads nowhere. */
export function nextCard(cards: Pick<DOMRect, 'left' | 'top'>[], from: number, key: string): number | null {
  const here = cards[from];
  if (!here) return null;
  if (key === 'Home' || key === 'End') return key === 'Home' ? 0 : cards.length - 1;
  if (key === 'ArrowLeft' || key === 'ArrowRight') {
    const next = from + (key === 'ArrowLeft' ? -1 : 1);
    return cards[next] ? next : null;
  }
  if (key !== 'ArrowUp' && key !== 'ArrowDown') return null;
  const away = ({ top }: { top: number }) => (key === 'ArrowUp' ? here.top - top : top - here.top);
  const aside = ({ left }: { left: number }) => Math.abs(left - here.left);
  const beyond = cards.filter((card) => away(card) > 0);
  const best = beyond.sort((a, b) => away(a) - away(b) || aside(a) - aside(b))[0];
  return best ? cards.indexOf(best) : null;
}

/** Act on a key pressed in a card: open its detail, or go to the next card. */
export function steer(event: KeyboardEvent, root: HTMLElement, app: App): void {
  const card = (event.target as Element).closest<HTMLElement>('article[data-uuid]');
  if (!card || event.altKey || event.metaKey || event.ctrlKey) return;
  if (event.key === ' ') {
    event.preventDefault();
    app.selection.pin(card.dataset['uuid']!, card.getBoundingClientRect());
    return;
  }
  const cards = [...root.querySelectorAll<HTMLElement>('article[data-uuid]')];
  const places = cards.map((each) => each.getBoundingClientRect());
  const next = nextCard(places, cards.indexOf(card), arrowOf(event.key, app.preferences.letterKeys));
  if (next === null) return;
  event.preventDefault();
  cards[next]!.scrollIntoView({ block: 'nearest' });
  cards[next]!.querySelector('a')?.focus({ preventScroll: true });
}
