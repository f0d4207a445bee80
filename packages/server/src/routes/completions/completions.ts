import { createAnswerHead } from '../../generation/answer-head.ts';
import { eventStream } from '../../http/event-stream.ts';
import { postRoute } from '../../http/route.ts';
import { completionAnswer, completionSchema } from './completion-answer.ts';
import { completionBody } from './completion-body.ts';
import { completionChunkSchema, completionChunks } from './completion-stream.ts';
import { startCompletions } from './start-completions.ts';

/** Goes on with texts, without a chat around them. */
export const completionsRoute = postRoute({
  path: '/v1/completions',
  tag: 'OpenAI',
  summary: 'Go on with texts',
  body: completionBody,
  example: { prompt: 'Once upon a time', max_tokens: 32 },
  responses: {
    200: [
      { description: 'The texts that follow.', schema: completionSchema },
      {
        description: 'With stream: their parts as they are made, then [DONE].',
        contentType: 'text/event-stream',
        schema: completionChunkSchema,
      },
    ],
  },
  handle: async (context, { fields }) => {
    const served = await context.useModel(fields.model);
    const started = await startCompletions(context, served, fields);
    const options = {
      head: createAnswerHead(served, 'cmpl-'),
      tokenizer: served.model.tokenizer,
      count: fields.n ?? 1,
      wantsLogprobs: (fields.logprobs ?? null) !== null,
    };
    if (!fields.stream) return Response.json(await completionAnswer(context, started, options));
    const includeUsage = fields.stream_options?.include_usage ?? false;
    return eventStream(context, completionChunks(context, started, { ...options, includeUsage }), { last: '[DONE]' });
  },
});
