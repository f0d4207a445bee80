import { describe, expect, it } from 'vitest';
import { type AskedRequest, errorAnswer, ScriptedStream, scriptedFetch } from '../__fixtures__/scripted-fetch.ts';
import { StoredConversations } from '../server/conversations.ts';
import { ServerClient } from '../server/server-client.ts';
import { ChatController } from './chat-controller.ts';

/** A controller whose answers the test writes: one stream for each that is asked for. */
function setUp({
  store = () => Response.json({ id: 'conv_1' }),
}: {
  store?: (request: AskedRequest) => Response;
} = {}) {
  const streams: ScriptedStream[] = [];
  const { fetch, asked } = scriptedFetch((request, signal) => {
    if (!request.path.endsWith('/completions')) return store(request);
    const stream = new ScriptedStream(signal);
    streams.push(stream);
    return stream.response;
  });
  const client = new ServerClient({ fetch });
  const controller = new ChatController(client, new StoredConversations(client));
  const contents = () => controller.state.messages.map(({ content }) => content);
  const stored = () => asked.filter(({ path }) => path.startsWith('/v1/conversations'));
  const questions = () => asked.filter(({ path }) => path.endsWith('/completions')).map(({ body }) => body);
  return { controller, streams, contents, stored, questions };
}

const turn = () => new Promise((resolve) => setTimeout(resolve));

/** Asks, and answers at once. */
async function exchange({ controller, streams }: ReturnType<typeof setUp>, question: string, answer: string) {
  const sent = controller.send(question);
  await turn();
  streams.at(-1)!.text(answer);
  streams.at(-1)!.end();
  await sent;
  await turn();
}

describe('ChatController', () => {
  it('sends all of the conversation, and keeps what came back', async () => {
    const test = setUp();
    test.controller.change({ systemPrompt: 'Be short.', model: 'small', sampling: { temperature: 0 } });
    await exchange(test, 'One?', '1');
    await exchange(test, 'Two?', '2');
    expect(test.contents()).toEqual(['One?', '1', 'Two?', '2']);
    expect(test.controller.state.messages[1]!.stats).toMatchObject({ promptTokens: 10, cachedTokens: 4 });
    const [, second] = test.questions();
    expect(second).toMatchObject({ model: 'small', temperature: 0, conversation: test.controller.state.key });
    expect(second.messages).toEqual([
      { role: 'system', content: 'Be short.' },
      { role: 'user', content: 'One?' },
      { role: 'assistant', content: '1' },
      { role: 'user', content: 'Two?' },
    ]);
  });

  it('has it stored: the question when it is asked, the answer when it is over', async () => {
    const test = setUp();
    await exchange(test, 'One?', '1');
    await exchange(test, 'Two?', '2');
    expect(test.stored().map(({ method, path, body }) => [method, path, body.index, body.content])).toEqual([
      ['POST', '/v1/conversations', undefined, undefined],
      ['POST', '/v1/conversations/conv_1/messages', 0, 'One?'],
      ['POST', '/v1/conversations/conv_1/messages', 1, '1'],
      ['POST', '/v1/conversations/conv_1/messages', 2, 'Two?'],
      ['POST', '/v1/conversations/conv_1/messages', 3, '2'],
    ]);
    expect(test.controller.state.id).toBe('conv_1');
  });

  it('keeps what there is of an answer that is stopped, and takes nothing of it that comes later', async () => {
    const test = setUp();
    const sent = test.controller.send('One?');
    await turn();
    test.streams[0]!.text('half');
    await turn();
    test.controller.stop();
    await sent;
    await turn();
    expect(test.controller.state).toMatchObject({ isAnswering: false });
    expect(test.controller.state.messages.at(-1)).toEqual({ role: 'assistant', content: 'half', ending: 'stopped' });
    expect(test.stored().at(-1)!.body).toEqual({
      role: 'assistant',
      content: 'half',
      stats: { ending: 'stopped' },
      index: 1,
    });
  });

  it('writes an answer anew in its place', async () => {
    const test = setUp();
    await exchange(test, 'One?', '1');
    const retried = test.controller.retry(1);
    await turn();
    test.streams.at(-1)!.text('uno');
    test.streams.at(-1)!.end();
    await retried;
    await turn();
    expect(test.contents()).toEqual(['One?', 'uno']);
    expect(test.questions().at(-1)!.messages).toEqual([{ role: 'user', content: 'One?' }]);
    expect(test.stored().at(-1)).toMatchObject({ path: '/v1/conversations/conv_1/messages/1' });
  });

  it('asks an edited question in the place of the old one, also while an answer is being written', async () => {
    const test = setUp();
    await exchange(test, 'One?', '1');
    void test.controller.send('Two?');
    await turn();
    test.streams.at(-1)!.text('2');
    const edited = test.controller.send('Three?', 0);
    await turn();
    test.streams.at(-1)!.text('3');
    test.streams.at(-1)!.end();
    await edited;
    expect(test.contents()).toEqual(['Three?', '3']);
    expect(test.questions().at(-1)!.messages).toEqual([{ role: 'user', content: 'Three?' }]);
  });

  it('says in the place of the answer why there is none', async () => {
    const { controller, streams } = setUp();
    const sent = controller.send('One?');
    await turn();
    streams[0]!.data('{"error":{"message":"The model has gone."}}');
    await sent;
    expect(controller.state.messages.at(-1)).toMatchObject({ ending: 'failed', problem: 'The model has gone.' });
  });

  it('goes on where nothing can be stored, and says so', async () => {
    const test = setUp({ store: () => errorAnswer(507, 'store_full', 'The disk is full.') });
    await exchange(test, 'One?', '1');
    expect(test.contents()).toEqual(['One?', '1']);
    expect(test.controller.state.problem).toBe('The conversation was not stored: The disk is full.');
  });

  it('has stored later what could not be stored when it was said', async () => {
    let isDown = false;
    const test = setUp({
      store: () => (isDown ? errorAnswer(503, 'unavailable') : Response.json({ id: 'conv_1' })),
    });
    await exchange(test, 'One?', '1');
    isDown = true;
    await exchange(test, 'Two?', '2');
    isDown = false;
    const numBefore = test.stored().length;
    await exchange(test, 'Three?', '3');
    const later = test.stored().slice(numBefore);
    expect(later.map(({ body }) => [body.index, body.content])).toEqual([
      [2, 'Two?'],
      [3, '2'],
      [4, 'Three?'],
      [5, '3'],
    ]);
  });

  it('stops when another conversation is begun, and stores what there was where it belongs', async () => {
    const test = setUp();
    const sent = test.controller.send('One?');
    await turn();
    test.streams[0]!.text('half');
    await turn();
    test.controller.begin({ ...test.controller.state, model: 'other' });
    await sent;
    await turn();
    expect(test.controller.state).toMatchObject({ messages: [], id: undefined, model: 'other', title: '' });
    expect(test.stored().map(({ path }) => path)).toEqual([
      '/v1/conversations',
      '/v1/conversations/conv_1/messages',
      '/v1/conversations/conv_1/messages',
    ]);
  });
});
