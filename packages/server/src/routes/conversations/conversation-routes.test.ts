import { type ConversationStore, openConversationStore } from '@hearth/conversations';
import { hashScript } from '@hearth/engine/test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AnyJson, type TestServer, testServer } from '../../__fixtures__/test-server.ts';
import { openApiPath } from '../../openapi/open-api-path.ts';
import { conversationRoutes } from './conversation-routes.ts';

let store: ConversationStore;
let test: TestServer;

beforeEach(async () => {
  store = openConversationStore(':memory:');
  test = await testServer({ next: hashScript() }, { conversations: store });
});

afterEach(async () => {
  await test.server.dispose();
  store.close();
});

async function call(method: string, path: string, body?: unknown): Promise<{ status: number; body: AnyJson }> {
  const response = await test.send(`/v1/conversations${path}`, body, { method });
  return { status: response.status, body: await response.json() };
}

async function create(body: unknown = {}): Promise<AnyJson> {
  return (await call('POST', '', body)).body;
}

const user = (content: string) => ({ role: 'user', content });
const error = (code: string, param: string | null = null) => ({ error: { code, param } });

describe('/v1/conversations', () => {
  it('creates, reads, lists, changes and deletes', async () => {
    const created = await create({
      title: 'Sums',
      model: 'fake',
      system_prompt: 'Short.',
      settings: { temperature: 0 },
    });
    expect(created).toMatchObject({ object: 'conversation', title: 'Sums', model: 'fake', system_prompt: 'Short.' });
    const { id } = created;
    expect(await call('GET', `/${id}`)).toEqual({ status: 200, body: created });
    const { body: changed } = await call('PATCH', `/${id}`, { title: 'Four', model: '', settings: null });
    expect(changed).toMatchObject({ id, title: 'Four', model: null });
    expect((await call('GET', '')).body).toEqual({ object: 'list', data: [changed], next: null });
    expect((await call('GET', `/${id}`)).body).toMatchObject({ system_prompt: 'Short.', settings: { temperature: 0 } });
    const deleted = { id, object: 'conversation.deleted', deleted: true };
    expect(await call('DELETE', `/${id}`)).toEqual({ status: 200, body: deleted });
    expect(await call('GET', `/${id}`)).toMatchObject({ status: 404, body: error('conversation_not_found') });
    expect((await call('GET', '')).body.data).toEqual([]);
  });

  it('tells times in seconds', async () => {
    const { created_at } = await create();
    expect(Math.abs(created_at - Date.now() / 1000)).toBeLessThan(600);
  });

  it('gives pages', async () => {
    const ids = [];
    for (let index = 0; index < 5; index++) ids.unshift((await create({ title: `${index}` })).id);
    const first = (await call('GET', '?limit=3')).body;
    const second = (await call('GET', `?limit=3&before=${first.next}`)).body;
    expect(second.next).toBeNull();
    expect([...first.data, ...second.data].map(({ id }) => id)).toEqual(ids);
  });

  it('searches titles and messages', async () => {
    const { id } = await create({ messages: [user('Where is 北京?')] });
    await create({ title: 'Rome' });
    expect((await call('GET', `?search=${encodeURIComponent('北京')}`)).body.data).toMatchObject([{ id }]);
    expect((await call('GET', '?search=rOME')).body.data).toMatchObject([{ title: 'Rome' }]);
  });

  it.each<[string, string, string]>([
    ['?limit=0', 'limit', 'invalid_value'],
    ['?limit=101', 'limit', 'invalid_value'],
    ['?limit=some', 'limit', 'invalid_value'],
    ['?before=yesterday', 'before', 'invalid_value'],
    ['?search=', 'search', 'invalid_value'],
    [`?search=${'x'.repeat(201)}`, 'search', 'invalid_value'],
  ])('refuses %s', async (query, param, code) => {
    expect(await call('GET', query)).toMatchObject({ status: 400, body: error(code, param) });
  });
});

describe('messages of a conversation', () => {
  it('are added, and replaced from an index on', async () => {
    const { id } = await create({ messages: [user('2 + 2?')] });
    const answer = { role: 'assistant', content: 'Five.', reasoning: 'Hm.', tool: [1], stats: { tokens: 2 } };
    const { body: added } = await call('POST', `/${id}/messages`, { ...answer, index: 1 });
    expect(added).toMatchObject({ object: 'conversation.message', ...answer });
    const messages = [{ role: 'assistant', content: 'Four.' }];
    const { body: replaced } = await call('PUT', `/${id}/messages/1`, { messages });
    expect(replaced.data).toMatchObject([{ content: 'Four.', reasoning: null, tool: null, stats: null }]);
    const contents = (await call('GET', `/${id}`)).body.messages.map(({ content }: AnyJson) => content);
    expect(contents).toEqual(['2 + 2?', 'Four.']);
    await call('PUT', `/${id}/messages/0`, { messages: [] });
    expect((await call('GET', `/${id}`)).body.messages).toEqual([]);
  });

  it('are not written over what somebody else has written', async () => {
    const { id } = await create({ messages: [user('a'), user('b')] });
    const conflict = { status: 409, body: error('conversation_conflict') };
    expect(await call('POST', `/${id}/messages`, { ...user('c'), index: 1 })).toMatchObject(conflict);
    expect(await call('PUT', `/${id}/messages/3`, { messages: [] })).toMatchObject(conflict);
    expect((await call('GET', `/${id}`)).body.messages).toHaveLength(2);
  });

  it.each<[unknown, string]>([
    [{ content: 'x' }, 'role'],
    [{ role: 'robot', content: 'x' }, 'role'],
    [{ role: 'user' }, 'content'],
    [{ role: 'user', content: ['x'] }, 'content'],
    [{ role: 'user', content: 'x', index: -1 }, 'index'],
    [{ role: 'user', content: 'x', stats: [1] }, 'stats'],
    [{ role: 'user', content: 'x', tool: 'x'.repeat(262_145) }, 'tool'],
  ])('are refused when they are none: %j', async (message, param) => {
    const { id } = await create();
    expect(await call('POST', `/${id}/messages`, message)).toMatchObject({ status: 400, body: { error: { param } } });
  });
});

it('takes numbers of settings only as far as they can be kept', async () => {
  const { status, body } = await call('POST', '', '{"settings": {"seed": 12345678901234567890}}');
  expect({ status, body }).toMatchObject({ status: 400, body: error('invalid_value', 'settings.seed') });
});

it('says when there is no more room, and that somebody else is writing', async () => {
  await test.server.dispose();
  const small = openConversationStore(':memory:', { maxBytes: 64 * 1024 });
  test = await testServer({ next: hashScript() }, { conversations: small });
  const full = await call('POST', '', { messages: [user('x'.repeat(100_000))] });
  expect(full).toMatchObject({ status: 507, body: error('store_full') });
  small.close();
  expect(await call('GET', '')).toMatchObject({ status: 503, body: error('unavailable') });
});

it('is not there without a store', async () => {
  await test.server.dispose();
  test = await testServer({ next: hashScript() });
  for (const [method, path] of [
    ['GET', ''],
    ['GET', '/conv_1'],
    ['DELETE', '/conv_1'],
  ] as const) {
    expect(await call(method, path)).toMatchObject({ status: 404, body: error('not_found') });
  }
  const { paths }: AnyJson = await (await test.send('/openapi.json')).json();
  expect(Object.keys(paths).filter((path) => path.includes('conversations'))).toEqual([]);
});

it('lets pages of other origins neither read nor write', async () => {
  const { id } = await create({ title: 'private' });
  const headers = { Origin: 'https://evil.example' };
  for (const [method, path] of [
    ['GET', ''],
    ['GET', `/${id}`],
    ['DELETE', `/${id}`],
  ] as const) {
    const response = await test.send(`/v1/conversations${path}`, undefined, { method, headers });
    expect(response.status).toBe(403);
    expect(await response.text()).not.toContain('private');
  }
  expect((await call('GET', `/${id}`)).status).toBe(200);
});

describe('the description', () => {
  it('is valid, and has every route with its query', async () => {
    const described: AnyJson = await (await test.send('/openapi.json')).json();
    expect(await new Validator().validate(described)).toEqual({ valid: true });
    for (const { method, path } of conversationRoutes(store)) {
      const { responses } = described.paths[openApiPath(path)][method.toLowerCase()];
      expect(Object.keys(responses)).toEqual(expect.arrayContaining(['200', '401', '403', '503', '507']));
    }
    const { parameters } = described.paths['/v1/conversations'].get;
    expect(parameters.map(({ name, in: place }: AnyJson) => `${place} ${name}`)).toEqual([
      'query limit',
      'query before',
      'query search',
    ]);
  });

  it('gives examples that work', async () => {
    const { id } = await create({ messages: [user('2 + 2?')] });
    for (const { method, path, example } of conversationRoutes(store).filter(({ body }) => body)) {
      const filled = openApiPath(path).replace('{id}', id).replace('{index}', '1');
      const response = await test.send(filled, example, { method });
      expect([method, path, response.status]).toEqual([method, path, 200]);
    }
  });
});
