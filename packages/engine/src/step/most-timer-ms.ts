/** What `setTimeout` can wait for, in milliseconds. */
export const mostTimerMs = 2 ** 31 - 1;
