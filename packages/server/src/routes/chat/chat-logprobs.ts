import { z } from 'zod';
import type { TextLogprob } from '../../generation/text-logprobs.ts';

const entry = { token: z.string(), logprob: z.number(), bytes: z.array(z.int()) };

export const chatLogprobsSchema = z
  .object({
    content: z.array(z.object({ ...entry, top_logprobs: z.array(z.object(entry)) })),
    refusal: z.null(),
  })
  .meta({ id: 'ChatLogprobs', description: 'Of all that the model wrote: thoughts and calls, too.' });

export function chatLogprobs(logprobs: readonly TextLogprob[]): z.output<typeof chatLogprobsSchema> {
  const content = logprobs.map(({ text, bytes, logprob, top }) => ({
    token: text,
    logprob,
    bytes: [...bytes],
    top_logprobs: top.map(({ text, bytes, logprob }) => ({ token: text, logprob, bytes: [...bytes] })),
  }));
  return { content, refusal: null };
}
