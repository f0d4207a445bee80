/** Errors of all routes of conversations. */
export const storeErrors: Readonly<Record<number, string>> = {
  503: 'The server is shutting down, or another process is writing.',
  507: 'There is no more room; nothing was changed.',
};

/** Errors of the routes of one conversation. */
export const conversationErrors: Readonly<Record<number, string>> = {
  ...storeErrors,
  404: 'There is no such conversation.',
};

export const conflict = { 409: 'Something else has changed the messages meanwhile; read them again.' };
