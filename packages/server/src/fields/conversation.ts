import { z } from 'zod';

const error = 'must be a name of 1 to 128 characters';

/** What a client calls a conversation. */
export const conversationField = z.string({ error }).min(1, { error }).max(128, { error });
