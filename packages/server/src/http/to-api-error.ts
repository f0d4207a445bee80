import { HearthError } from '@hearth/core';
import { ApiError, type ApiErrorOptions } from './api-error.ts';

/**
 * Errors of the engine whose sentence is about the request, so that the client is told it: code of the error to the answer.
 * The sentence of any other error may speak of files or of what others do, and stays in the log.
 */
const answers: Readonly<Record<string, ApiErrorOptions>> = {
  invalid_argument: { status: 400, code: 'invalid_value' },
  unsupported: { status: 400, code: 'unsupported' },
  context_length_exceeded: { status: 400, code: 'context_length_exceeded' },
  cache_exhausted: { status: 400, code: 'context_length_exceeded' },
  template_error: { status: 400, param: 'messages', code: 'template_error' },
  no_chat_template: { status: 400, param: 'messages', code: 'no_chat_template' },
  constraint: { status: 400, code: 'invalid_constraint' },
  limit_exceeded: { status: 400, code: 'limit_exceeded' },
  no_token_allowed: { status: 400, code: 'no_token_allowed' },
  queue_full: { status: 429, type: 'rate_limit_error', code: 'queue_full', headers: { 'Retry-After': '1' } },
  deadline: { status: 504, code: 'timeout' },
  conversation_not_found: { status: 404, type: 'not_found_error', code: 'conversation_not_found' },
  conversation_conflict: { status: 409, code: 'conversation_conflict' },
  conversation_too_large: { status: 400, code: 'conversation_too_large' },
  store_full: { status: 507, code: 'store_full' },
  store_busy: { status: 503, code: 'store_busy', headers: { 'Retry-After': '1' } },
};

/** What the client is told of an error: its own sentence where that is about the request, else only that we failed. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (HearthError.isInstance(error)) {
    const { code } = error;
    if (code === 'disposed') return unavailable('The server is shutting down, or the model was unloaded.', error);
    if (code === 'aborted') return new ApiError('The request was cancelled.', { status: 499, cause: error });
    if (code === 'limit_exceeded' && error.details.limit === 'start') {
      return unavailable('The server has too much to do.', error);
    }
    const answer = answers[code];
    if (answer && !namesPlace(error)) return inNamesOfRequests(error, answer);
  }
  return new ApiError('The server failed to answer this request. Its log says why, under the id of the request.', {
    status: 500,
    code: 'internal_error',
    cause: error,
  });
}

/** Whether the error is about a file or an address of the server, which is nothing that a request could have said. */
function namesPlace({ code, details }: HearthError): boolean {
  // The path of a constraint is one in its schema.
  return code !== 'constraint' && ['path', 'file', 'url', 'directory'].some((name) => name in details);
}

/** The engine's sentence, but with the field as requests call it: `logit_bias` for `logitBias`. */
function inNamesOfRequests(error: HearthError, answer: ApiErrorOptions): ApiError {
  const { message, details } = error;
  const { field, place } = details;
  if (typeof field !== 'string') {
    return new ApiError(message, { ...answer, ...(typeof place === 'string' && { param: place }), cause: error });
  }
  const param = field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const sentence = message.startsWith(field) ? param + message.slice(field.length) : message;
  return new ApiError(sentence, { ...answer, param, cause: error });
}

function unavailable(sentence: string, cause: unknown): ApiError {
  return new ApiError(`${sentence} Try again later.`, {
    status: 503,
    code: 'unavailable',
    headers: { 'Retry-After': '5' },
    cause,
  });
}
