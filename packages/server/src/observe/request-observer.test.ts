import { hashScript } from '@hearth/engine/test';
import { afterEach, describe, expect, it } from 'vitest';
import { parseMetrics, sampleValue } from '../__fixtures__/metrics-text.ts';
import { recordingLogger } from '../__fixtures__/recording-logger.ts';
import { type TestServer, testServer } from '../__fixtures__/test-server.ts';

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
});

describe('the log', () => {
  it('has a line for each request, under its id, and whispers of what machines ask all day', async () => {
    const { logger, lines } = recordingLogger();
    test = await testServer({ next: hashScript() }, { logger });
    await test.send('/health');
    await test.send('/metrics');
    await test.send('/v1/models/absent', undefined, { headers: { 'X-Request-Id': 'mine' } });
    await test.send('/absent');
    expect(lines.map(({ level, fields }) => [level, fields.route, fields.status])).toEqual([
      ['debug', '/health', 200],
      ['debug', '/metrics', 200],
      ['info', '/v1/models/{id}', 404],
      ['info', '(none)', 404],
    ]);
    expect(lines[2]!.fields).toMatchObject({ requestId: 'mine', error: 'There is no model "absent" here.' });
    for (const { fields } of lines) {
      expect(fields.requestId).toEqual(expect.any(String));
      expect(fields.milliseconds).toBeGreaterThanOrEqual(0);
    }
  });
});
