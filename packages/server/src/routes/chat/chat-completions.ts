import { createAnswerHead } from '../../generation/answer-head.ts';
import { checkCount } from '../../generation/check-count.ts';
import { checkLogprobs } from '../../generation/check-logprobs.ts';
import { startChat } from '../../generation/start-chat.ts';
import { eventStream } from '../../http/event-stream.ts';
import { postRoute } from '../../http/route.ts';
import { chatAnswer, chatAnswerSchema } from './chat-answer.ts';
import { chatBody, readChatBody } from './chat-body.ts';
import { chatChunkSchema, chatChunks } from './chat-stream.ts';

/** Answers a conversation. */
export const chatCompletionsRoute = postRoute({
  path: '/v1/chat/completions',
  tag: 'OpenAI',
  summary: 'Answer a conversation',
  body: chatBody,
  example: { messages: [{ role: 'user', content: 'Why is the sky blue?' }], max_tokens: 64 },
  responses: {
    200: [
      { description: 'The answer.', schema: chatAnswerSchema },
      {
        description: 'With stream: its chunks as they are made, then [DONE].',
        contentType: 'text/event-stream',
        schema: chatChunkSchema,
      },
    ],
  },
  handle: async (context, body) => {
    const { fields } = body;
    const request = readChatBody(body);
    checkCount(context, request.count);
    const served = await context.useModel(fields.model);
    if (!fields.stream) checkLogprobs(served, { ...request, numScoredTokens: [0] });
    const started = await startChat(context, served, request);
    const head = createAnswerHead(served, 'chatcmpl-');
    if (!fields.stream) return Response.json(await chatAnswer(context, head, started));
    const chunks = chatChunks(context, head, started, fields.stream_options?.include_usage ?? false);
    return eventStream(context, chunks, { last: '[DONE]' });
  },
});
