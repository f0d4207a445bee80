import { describe, expect, it } from 'vitest';
import { AnswerChecker } from './answer-checker.ts';

const number = {
  content: { 'application/json': { schema: { type: 'object', properties: { a: { type: 'number' } } } } },
};
const events = { content: { 'text/event-stream': { schema: { type: 'object', required: ['a'] } } } };
const error = { type: 'object', required: ['error'], properties: { error: { required: ['message'] } } };
const document = {
  paths: { '/a/{b}': { get: { responses: { 200: number } } }, '/events': { post: { responses: { 200: events } } } },
  components: { schemas: { Error: error } },
};

const stream = (...data: string[]) =>
  new Response(data.map((event) => `data: ${event}\n\n`).join(''), {
    headers: { 'Content-Type': 'text/event-stream' },
  });

describe('AnswerChecker', () => {
  const checker = new AnswerChecker(document);
  const check = (response: Response) => checker.check('GET', '/a/{b}', response);
  const checkEvents = (...data: string[]) => checker.check('POST', '/events', stream(...data));

  it('passes what is as described', async () => {
    await check(Response.json({ a: 1 }));
    await checkEvents('{"a": 1}', '{"error": {"message": "no"}}', '[DONE]');
  });

  it('tells a wrong body, status and content type, and any failure of ours', async () => {
    await expect(check(Response.json({ a: 'one' }))).rejects.toThrow('/a must be number');
    await expect(check(Response.json({}, { status: 201 }))).rejects.toThrow('Status 201 is not described');
    await expect(check(new Response('a'))).rejects.toThrow('Content type text/plain is not described');
    await expect(check(Response.json({}, { status: 500 }))).rejects.toThrow('Status 500');
  });

  it('tells a wrong event, and an event that is an error of ours', async () => {
    await expect(checkEvents('{"a": 1}', '{"b": 1}')).rejects.toThrow("must have required property 'a'");
    await expect(checkEvents('{"error": {}}')).rejects.toThrow("must have required property 'message'");
    const failure = { error: { type: 'server_error', message: 'failed' } };
    await expect(checkEvents(JSON.stringify(failure))).rejects.toThrow('an error of ours');
  });
});
