import type { Gpu } from './fleet.svelte';

/** A GPU of a node with the instances that it is cut into, mostly none; null where only these are known. */
export interface Card {
  whole: Gpu | null;
  parts: Gpu[];
}

/** The cards of a node; null where none is cut, as nearly everywhere: then each GPU is one. */
export function cutCards(gpus: Gpu[]): Card[] | null {
  if (!gpus.some((gpu) => gpu.record.mig_parent_uuid)) return null;
  const cards: Card[] = [];
  let last = '';
  for (const gpu of gpus) {
    const { mig_parent_uuid: parent, uuid } = gpu.record;
    // Their order has instances right behind their card.
    if (parent !== null && parent === last) cards.at(-1)!.parts.push(gpu);
    else cards.push(parent === null ? { whole: gpu, parts: [] } : { whole: null, parts: [gpu] });
    last = parent ?? uuid;
  }
  return cards;
}
