/** Room right of a plot, where the last moment's word ends. */
export const RIGHT = 10;
