/** Whether `g` was pressed just now: the next letter says where to go, and moves nothing. */
export const going: { timer: ReturnType<typeof setTimeout> | undefined } = { timer: undefined };
