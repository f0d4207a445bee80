import { hashScript } from '@hearth/engine/test';
import { afterEach, describe, expect, it } from 'vitest';
import { parseMetrics, sampleValue } from '../__fixtures__/metrics-text.ts';
import { recordingLogger } from '../__fixtures__/recording-logger.ts';
import { scriptedModel } from '../__fixtures__/scripted-chat.ts';
import { type TestServer, testServer } from '../__fixtures__/test-server.ts';

const chat = '/v1/chat/completions';
const hi = [{ role: 'user', content: 'hi' }];

let test: TestServer;

afterEach(() => test.server.dispose());

const metrics = async () => parseMetrics(await (await test.send('/metrics')).text());

describe('GET /metrics', () => {
  it('describes every metric, also when it is read twice in a row, and knows models when they are loaded', async () => {
    test = await testServer({ next: hashScript() });
    expect(sampleValue(await metrics(), 'hearth_kv_blocks')).toBeUndefined();
    await test.server.preload('fake');
    const [samples] = [await metrics(), await metrics()];
    expect(sampleValue(samples, 'hearth_kv_blocks', { model: 'fake', state: 'free' })).toBe(16);
    expect(sampleValue(samples, 'hearth_kv_blocks', { model: 'fake', state: 'owned' })).toBe(0);
    expect(sampleValue(samples, 'hearth_model_state', { model: 'fake', state: 'loaded' })).toBe(1);
    expect(sampleValue(samples, 'hearth_model_load_seconds', { model: 'fake' })).toBeGreaterThan(0);
    for (const phase of ['plan', 'run', 'deliver']) {
      expect(sampleValue(samples, 'hearth_step_seconds_total', { model: 'fake', phase })).toBe(0);
    }
  });

  it('counts requests by route, method and status, and only the one that asks is under way', async () => {
    test = await testServer({ next: hashScript() });
    await Promise.all([test.json('/health'), test.json('/v1/models/fake'), test.json('/v1/models/no')]);
    await test.json('/nothing', undefined);
    const samples = await metrics();
    const count = (labels: Record<string, string>) => sampleValue(samples, 'hearth_requests_total', labels);
    expect(count({ route: '/health', method: 'GET', status: '200' })).toBe(1);
    expect(count({ route: '/v1/models/{id}', method: 'GET', status: '200' })).toBe(1);
    expect(count({ route: '/v1/models/{id}', method: 'GET', status: '404' })).toBe(1);
    expect(count({ route: '(none)', method: 'GET', status: '404' })).toBe(1);
    expect(sampleValue(samples, 'hearth_request_seconds_count', { route: '/health' })).toBe(1);
    expect(sampleValue(samples, 'hearth_requests_under_way')).toBe(1);
  });

  it('counts the tokens that usage reports, and times them', async () => {
    test = await testServer(await scriptedModel('hello'));
    const whole = (await test.json(chat, { messages: hi, temperature: 0, n: 2 })).body.usage;
    const events = await test.events(chat, {
      messages: hi,
      temperature: 0,
      stream: true,
      stream_options: { include_usage: true },
    });
    const { usage: streamed } = events.at(-2);
    const samples = await metrics();
    const total = (name: string) => sampleValue(samples, `hearth_${name}_tokens_total`, { model: 'fake' });
    expect(total('prompt')).toBe(whole.prompt_tokens + streamed.prompt_tokens);
    expect(total('completion')).toBe(whole.completion_tokens + streamed.completion_tokens);
    expect(total('cached')).toBe(
      whole.prompt_tokens_details.cached_tokens + streamed.prompt_tokens_details.cached_tokens,
    );
    expect(total('cached')).toBeGreaterThan(0);
    expect(sampleValue(samples, 'hearth_time_to_first_token_seconds_count', { model: 'fake' })).toBe(2);
    // Three texts of six tokens: the letters and the end of the turn.
    expect(sampleValue(samples, 'hearth_time_between_tokens_seconds_count', { model: 'fake' })).toBe(15);
    for (const kind of ['decode', 'prefill']) {
      expect(sampleValue(samples, 'hearth_step_tokens_total', { model: 'fake', kind })).toBeGreaterThan(0);
    }
  });

  it('counts what was made for a client that went away, and holds nothing for it', async () => {
    const { logger, lines } = recordingLogger();
    test = await testServer(await scriptedModel('a'.repeat(1000)), { logger });
    const response = await test.send(chat, { messages: hi, temperature: 0, stream: true });
    const reader = response.body!.getReader();
    for (let i = 0; i < 4; i++) await reader.read();
    const during = await metrics();
    expect(sampleValue(during, 'hearth_requests_under_way')).toBe(2);
    expect(sampleValue(during, 'hearth_running', { model: 'fake' })).toBe(1);
    await reader.cancel();
    const [ended] = lines.filter(({ fields }) => fields.route === chat);
    expect(ended).toMatchObject({ level: 'info', fields: { status: 499, model: 'fake', promptTokens: 22 } });
    expect(ended!.fields.completionTokens).toBeGreaterThanOrEqual(3);
    expect(ended!.fields).not.toHaveProperty('error');
    const after = await metrics();
    expect(sampleValue(after, 'hearth_requests_under_way')).toBe(1);
    expect(sampleValue(after, 'hearth_requests_total', { route: chat, status: '499' })).toBe(1);
    expect(sampleValue(after, 'hearth_completion_tokens_total', { model: 'fake' })).toBe(
      ended!.fields.completionTokens,
    );
    const owned = async () => sampleValue(await metrics(), 'hearth_kv_blocks', { model: 'fake', state: 'owned' });
    await expect.poll(owned).toBe(0);
    expect(sampleValue(await metrics(), 'hearth_running', { model: 'fake' })).toBe(0);
  });
});

describe('the log', () => {
  it('has a line for each request, under its id, and whispers of what machines ask all day', async () => {
    const { logger, lines } = recordingLogger();
    test = await testServer({ next: hashScript() }, { logger });
    await test.send('/health');
    await test.send('/metrics');
    await test.send('/v1/models/absent', undefined, { headers: { 'X-Request-Id': 'mine' } });
    await test.send('/absent');
    await test.send('/v1/compose', {});
    expect(lines.map(({ level, fields }) => [level, fields.route, fields.status])).toEqual([
      ['debug', '/health', 200],
      ['debug', '/metrics', 200],
      ['info', '/v1/models/{id}', 404],
      ['info', '(none)', 404],
      ['debug', '/v1/compose', 400],
    ]);
    expect(lines[3]!.fields.error).toContain('There is nothing at GET');
    expect(lines[2]!.fields).toMatchObject({ requestId: 'mine', error: expect.stringContaining('no model "absent"') });
    for (const { fields } of lines) {
      expect(fields.requestId).toEqual(expect.any(String));
      expect(fields.milliseconds).toBeGreaterThanOrEqual(0);
    }
  });

  it('says what came of a chat, and nothing of what was said', async () => {
    const { logger, lines } = recordingLogger();
    test = await testServer(await scriptedModel('my answer'), { logger });
    await test.json(chat, { messages: [{ role: 'user', content: 'my secret' }], temperature: 0, user: 'my name' });
    await test.json(chat, { messages: [{ role: 'user', content: 'my secret' }], n: 'my secret' });
    await test.send(chat, '{"my secret');
    expect(lines.filter(({ fields }) => fields.route === chat).map(({ level, fields }) => [level, fields])).toEqual([
      [
        'info',
        {
          requestId: expect.any(String),
          method: 'POST',
          route: chat,
          status: 200,
          milliseconds: expect.any(Number),
          model: 'fake',
          promptTokens: 29,
          cachedTokens: 0,
          completionTokens: 10,
          firstTokenMs: expect.any(Number),
        },
      ],
      ['info', expect.objectContaining({ status: 400, error: expect.stringMatching(/^n: must be a whole number/) })],
      ['info', expect.objectContaining({ status: 400 })],
    ]);
    expect(JSON.stringify(lines)).not.toMatch(/my (secret|answer|name)/);
  });

  it('has bodies only when they are asked for, at the lowest level', async () => {
    const { logger, lines } = recordingLogger();
    test = await testServer(await scriptedModel('yes'), { logger, logPrompts: true });
    await test.send(chat, `{"messages": ${JSON.stringify(hi)}, "seed": 9007199254740993}`);
    const [body] = lines.filter(({ fields }) => 'body' in fields);
    expect(body!.level).toBe('debug');
    expect(JSON.parse(body!.fields.body as string)).toMatchObject({ messages: hi, seed: '9007199254740993' });
  });

  it('tells the whole of what went wrong with us, of which the client is told nothing', async () => {
    const { logger, lines } = recordingLogger();
    const cause = new Error('no such file: /models/fake');
    const load = () => Promise.reject(cause);
    test = await testServer({ next: hashScript() }, { logger, models: [{ name: 'fake', load }] });
    const { status, body } = await test.json(chat, { messages: hi });
    expect(status).toBe(500);
    expect(JSON.stringify(body)).not.toContain('/models');
    const [line] = lines.filter(({ fields }) => fields.route === chat);
    expect(line).toMatchObject({ level: 'error', fields: { status: 500, err: cause, error: body.error.message } });
  });
});
