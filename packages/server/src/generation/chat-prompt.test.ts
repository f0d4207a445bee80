import { loadChatTemplate } from '@hearth/chat-format';
import { InvalidModelError } from '@hearth/core';
import { createFakeModel, loopingScript } from '@hearth/engine/test';
import { afterEach, expect, it } from 'vitest';
import { toApiError } from '../http/to-api-error.ts';
import { ServedModel } from '../models/served-model.ts';
import { type ChatToRender, renderChatPrompt } from './chat-prompt.ts';

const served: ServedModel[] = [];

afterEach(async () => {
  for (const model of served.splice(0)) await model.dispose();
});

async function render(template: string, messages: ChatToRender['messages'], continueFinalMessage = false) {
  const chatTemplate = await loadChatTemplate({ origin: 'test', template });
  const { model } = await createFakeModel({ next: loopingScript('a'), chatTemplate });
  const own = new ServedModel('fake', { model, dispose: () => model.dispose() });
  served.push(own);
  return renderChatPrompt(own, { messages, continueFinalMessage, addGenerationPrompt: !continueFinalMessage });
}

const users = "{% for m in messages %}{% if m.role == 'user' %}[{{ m.content }}]{% endif %}{% endfor %}";
const all = '{% for m in messages %}{{ m.role }}[{{ m.content }}]{% endfor %}';

it('refuses a role that the template leaves out, and takes one that it writes', async () => {
  const messages = [
    { role: 'user', content: 'hi' },
    { role: 'narrator', content: [{ type: 'text', text: 'A door opens.' }] },
  ];
  await expect(render(users, messages)).rejects.toMatchObject({
    status: 400,
    message: expect.stringMatching(/^messages\[1\]\.role/),
  });
  expect((await render(all, messages)).text).toBe('user[hi]narrator[A door opens.]');
});

it('has system for developer, and nothing for null', async () => {
  const named =
    '{% for m in messages %}{{ m.role }}[{{ m.content }}]{% if m.name is defined %}({{ m.name }}){% endif %}{% endfor %}';
  expect((await render(named, [{ role: 'developer', content: 'x', name: null }])).text).toBe('system[x]');
});

it.each([
  ['a', undefined],
  ['{% if false %}</think>{% endif %}a', 'closed'],
  ['a<think>\n', 'open'],
  ['a<think>\n\n</think>\n\n', undefined],
])('says how %j leaves the thoughts', async (template, reasoning) => {
  expect((await render(template, [{ role: 'user', content: 'hi' }])).reasoning).toBe(reasoning);
});

it.each([
  ['<think>\nhm', 'open'],
  ['<think>\nhm\n</think>\n\nye', undefined],
  ['ye', undefined],
])('knows where in its message an answer goes on: %j', async (content, reasoning) => {
  const template = `{# <think> #}${all}`;
  const messages = [
    { role: 'user', content: 'What is <think>?' },
    { role: 'assistant', content },
  ];
  expect((await render(template, messages, true)).reasoning).toBe(reasoning);
});

it('says that there is no template, or none that works, and not where (B31)', async () => {
  for (const problem of [
    undefined,
    new InvalidModelError('A syntax error in /some/where.', { details: { path: '/some/where' } }),
  ]) {
    const { model } = await createFakeModel({ next: loopingScript('a'), hasChatTemplate: false });
    if (problem) model.renderChat = () => Promise.reject(problem);
    const own = new ServedModel('fake', { model, dispose: () => model.dispose() });
    served.push(own);
    const rendering = renderChatPrompt(own, { messages: [{ role: 'user', content: 'hi' }], addGenerationPrompt: true });
    const error = toApiError(await rendering.catch((reason) => reason));
    expect(error).toMatchObject({ status: 400, message: expect.not.stringContaining('/some/where') });
    expect(error.toJSON().error).toMatchObject({ param: 'messages', code: 'no_chat_template' });
  }
});
