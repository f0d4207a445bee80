import { checkLogprobs } from '../../generation/check-logprobs.ts';
import { startChat } from '../../generation/start-chat.ts';
import { eventStream } from '../../http/event-stream.ts';
import { postRoute } from '../../http/route.ts';
import { ResponseRun } from './response-run.ts';
import { type ResponseEvent, responseEventSchema, responseSchema } from './response-schema.ts';
import { readResponsesBody, responsesBody } from './responses-body.ts';

/** Answers a conversation in OpenAI's newer form. Nothing is kept of it: the next request brings all of it along. */
export const responsesRoute = postRoute({
  path: '/v1/responses',
  tag: 'OpenAI',
  summary: 'Answer a conversation, in items',
  body: responsesBody,
  example: { input: 'Why is the sky blue?', max_output_tokens: 64 },
  responses: {
    200: [
      { description: 'The answer.', schema: responseSchema },
      {
        description: 'With stream: what happens as it happens, the last of it completed, incomplete or failed.',
        contentType: 'text/event-stream',
        schema: responseEventSchema,
      },
    ],
  },
  handle: async (context, body) => {
    const served = await context.useModel(body.fields.model);
    const request = readResponsesBody(body);
    if (!body.fields.stream) checkLogprobs(served, { ...request, numScoredTokens: [0] });
    const [choice] = await startChat(context, served, request);
    const run = new ResponseRun(context, body, served.name, choice!);
    if (!body.fields.stream) {
      for await (const _ of run.events()) {
        // They are for streams; the answer grows by them.
      }
      return Response.json(run.answer);
    }
    let numEvents = 0;
    const numbered = (event: ResponseEvent) => ({ ...event, sequence_number: numEvents++ });
    return eventStream(context, mapAsync(run.events(), numbered), {
      nameOf: (event) => (event as ResponseEvent).type,
      errorEvent: (error) => numbered({ type: 'response.failed', response: run.failed(error) }),
    });
  },
});

async function* mapAsync<From, To>(items: AsyncIterable<From>, map: (item: From) => To): AsyncGenerator<To> {
  for await (const item of items) yield map(item);
}
