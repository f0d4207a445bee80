import { hashScript } from '@hearth/engine/test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AnyJson, type TestServer, testServer } from '../__fixtures__/test-server.ts';
import { allRoutes } from '../routes/all-routes.ts';
import { openApiPath } from './open-api-path.ts';

let test: TestServer;

beforeEach(async () => {
  test = await testServer({ next: hashScript() });
});

afterEach(() => test.server.dispose());

const headers = { 'x-api-key': 'secret' };
const document = async (): Promise<AnyJson> => (await test.send('/openapi.json', undefined, { headers })).json();

describe('GET /openapi.json', () => {
  it('is valid by the schema of OpenAPI 3.1', async () => {
    const described = await document();
    expect(described.openapi).toBe('3.1.0');
    expect(await new Validator().validate(described)).toEqual({ valid: true });
  });

  it('has every route, with a summary, its answers and the errors that it may give', async () => {
    const { paths } = await document();
    for (const { method, path, isPublic, body } of allRoutes) {
      const operation = paths[openApiPath(path)][method.toLowerCase()];
      expect(operation.summary).toMatch(/^[A-Z].*[^.]$/);
      expect(operation.requestBody === undefined).toBe(body === undefined);
      const statuses = Object.keys(operation.responses);
      expect(statuses).toEqual(expect.arrayContaining(['200', '403', '500', '503']));
      expect(statuses.includes('401')).toBe(!isPublic);
      if (body) expect(statuses).toEqual(expect.arrayContaining(['400', '404', '408', '413', '415']));
    }
    const ids = Object.values<AnyJson>(paths).flatMap((path) => Object.values<AnyJson>(path).map((o) => o.operationId));
    expect(new Set(ids).size).toBe(allRoutes.length);
  });

  it('speaks of keys where there are some, and names the routes that need none', async () => {
    expect((await document()).components.securitySchemes).toBeUndefined();
    await test.server.dispose();
    test = await testServer({ next: hashScript() }, { apiKeys: ['secret'] });
    const { components, paths } = await document();
    expect(Object.keys(components.securitySchemes)).toEqual(['bearer', 'apiKey']);
    expect(paths['/health'].get.security).toEqual([]);
    expect(paths['/v1/models'].get.security).toEqual([{ bearer: [] }, { apiKey: [] }]);
  });

  it('gives examples that work', async () => {
    await test.server.dispose();
    test = await testServer({ next: hashScript(), contextLength: 1024 });
    for (const { path, example } of allRoutes.filter(({ body }) => body)) {
      expect(example, `an example for ${path}`).toBeDefined();
      const response = await test.send(path, example);
      expect([path, response.status, await response.text()]).toMatchObject([path, 200, expect.any(String)]);
    }
  });
});

describe('openApiPath', () => {
  it('writes parameters in braces', () => {
    expect(['/health', '/v1/models/:id{.+}', '/a/:b/c/:d'].map(openApiPath)).toEqual([
      '/health',
      '/v1/models/{id}',
      '/a/{b}/c/{d}',
    ]);
  });
});
