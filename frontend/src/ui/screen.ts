import { MediaQuery } from 'svelte/reactivity';

/** A phone's screen, as the styles draw the line. */
export const narrow = new MediaQuery('max-width: 700px');

/** A tablet's that stands on end: what has room beside each other on others has not here. */
export const slim = new MediaQuery('max-width: 960px');
