import { type scriptedChat, scriptedModel, type templates } from './scripted-chat.ts';
import { testServer } from './test-server.ts';

const path = '/v1/chat/completions';
const messages = [{ role: 'user', content: 'hi' }];

/** A server over a scripted model, and what it says to chats: "hi" where they have no messages of their own. */
export async function scriptedServer(reply: Parameters<typeof scriptedChat>[0], template?: keyof typeof templates) {
  const test = await testServer(await scriptedModel(reply, template));
  return {
    test,
    answer: async (body: object) => (await test.json(path, { messages, temperature: 0, ...body })).body,
    events: (body: object) => test.events(path, { messages, stream: true, temperature: 0, ...body }),
    refusal: async (body: object) => {
      const { status, body: answer } = await test.json(path, { messages, ...body });
      return { status, param: answer.error?.param, message: answer.error?.message };
    },
  };
}
