import { MediaQuery } from 'svelte/reactivity';

/** A phone's screen, as the styles draw the line. */
export const narrow = new MediaQuery('max-width: 700px');
