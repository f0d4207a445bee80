import { TemplateError } from '@hearth/chat-format';
import {
  AbortError,
  ContextLengthError,
  DisposedError,
  HearthError,
  InvalidArgumentError,
  InvalidModelError,
  LimitExceededError,
  NumericError,
  UnsupportedError,
} from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { ApiError } from './api-error.ts';
import { toApiError } from './to-api-error.ts';

const answerTo = (error: unknown) => {
  const api = toApiError(error);
  return { status: api.status, ...api.toJSON().error };
};

describe('toApiError', () => {
  it('leaves answers as they are', () => {
    const error = new ApiError('No.', { status: 418 });
    expect(toApiError(error)).toBe(error);
  });

  it.each<[HearthError, number, string]>([
    [new InvalidArgumentError('stop must be a string.'), 400, 'invalid_value'],
    [new UnsupportedError('This model has no embeddings.'), 400, 'unsupported'],
    [new ContextLengthError(600, 512), 400, 'context_length_exceeded'],
    [new TemplateError('Roles must alternate.'), 400, 'template_error'],
    [new LimitExceededError('The text is too long.'), 400, 'limit_exceeded'],
    [
      new HearthError('constraint', 'The schema has no value.', { details: { path: '#/a' } }),
      400,
      'invalid_constraint',
    ],
    [new HearthError('queue_full', '9 requests wait already.'), 429, 'queue_full'],
    [new HearthError('deadline', 'Not done within 5 ms.'), 504, 'timeout'],
  ])('tells the client what is about its request: %s', (error, status, code) => {
    expect(answerTo(error)).toMatchObject({ status, code, message: error.message });
  });

  it('names the field as requests do', () => {
    const error = new InvalidArgumentError('logitBias must map token ids.', { details: { field: 'logitBias' } });
    expect(answerTo(error)).toMatchObject({ param: 'logit_bias', message: 'logit_bias must map token ids.' });
    expect(answerTo(new InvalidArgumentError('Wrong.', { details: { place: 'messages[1]' } }))).toMatchObject({
      param: 'messages[1]',
    });
  });

  it.each([
    new InvalidModelError('/srv/models/secret.gguf is damaged.'),
    new NumericError('rope', 'NaN at 10.0.0.7'),
    new InvalidArgumentError('/srv/models/secret.gguf is none.', { details: { path: '/srv/models/secret.gguf' } }),
    new HearthError('session_file', 'Session file /srv/models/secret: it is damaged.'),
    new Error("ENOENT: no such file or directory, open '/srv/models/secret'"),
    'a string',
    undefined,
  ])('keeps to itself what may name files and addresses: %s', (error) => {
    const answer = answerTo(error);
    expect(answer).toMatchObject({ status: 500, type: 'server_error', code: 'internal_error' });
    expect(answer.message).toMatch(/^The server failed to answer this request\./);
  });

  it('says when to try again', () => {
    const errors = [
      new DisposedError('model'),
      new LimitExceededError('The template worker was not ready.', { details: { limit: 'start' } }),
    ];
    for (const error of errors) {
      expect(answerTo(error)).toMatchObject({ status: 503, code: 'unavailable' });
      expect(toApiError(error).headers).toEqual({ 'Retry-After': '5' });
    }
    expect(answerTo(new AbortError())).toMatchObject({ status: 499 });
  });
});
