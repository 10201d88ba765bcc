import { MediaQuery } from 'svelte/reactivity';

/** A screen that stands on end, as the styles draw the line. */
export const upright = new MediaQuery('max-aspect-ratio: 1 / 1');
