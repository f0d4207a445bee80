import {
  AbortError,
  HearthError,
  type HearthErrorOptions,
  InvalidArgumentError,
  InvalidModelError,
  LimitExceededError,
  UnsupportedError,
} from '@hearth/core';
import { WorkerFailedError } from './worker-failed-error.ts';

/** An error as it crosses the thread boundary. Structured clone alone would drop `code`, `details` and the class. */
export interface SerializedError {
  name: string;
  /** `undefined` when what was thrown is no `HearthError`. */
  code: string | undefined;
  message: string;
  stack: string | undefined;
  details: Readonly<Record<string, unknown>>;
}

/** Makes the error class of a package out of its parts again. Returns `undefined` for codes it does not know. */
export type ErrorReviver = (code: string, message: string, options: HearthErrorOptions) => HearthError | undefined;

/** Longest message that crosses the boundary. A template chooses its own messages, so they have to be bounded. */
const maxMessageLength = 10_000;

export function serializeError(error: unknown): SerializedError {
  const message = error instanceof Error ? error.message : String(error);
  return {
    name: error instanceof Error ? error.name : typeof error,
    code: HearthError.isInstance(error) ? error.code : undefined,
    message: message.length > maxMessageLength ? `${message.slice(0, maxMessageLength)}…` : message,
    stack: error instanceof Error ? error.stack?.slice(0, maxMessageLength) : undefined,
    details: HearthError.isInstance(error) ? cloneableDetails(error.details) : {},
  };
}

/** Rebuilds the error on the main thread. The worker's own stack stays readable as the `cause`. */
export function reviveError(serialized: SerializedError, where: string, reviver?: ErrorReviver): HearthError {
  const { code, message, details } = serialized;
  const origin = new Error(`${serialized.name}: ${message}`);
  if (serialized.stack !== undefined) origin.stack = serialized.stack;
  const options = { details, cause: origin };
  if (code === undefined) {
    return new WorkerFailedError(
      `${where} failed with ${serialized.name}: ${message} This is a defect in the code that runs there; please report it.`,
      options,
    );
  }
  return reviver?.(code, message, options) ?? reviveCoreError(code, message, options, serialized.name);
}

function reviveCoreError(code: string, message: string, options: HearthErrorOptions, name: string): HearthError {
  switch (code) {
    case 'invalid_argument':
      return new InvalidArgumentError(message, options);
    case 'invalid_model':
      return new InvalidModelError(message, options);
    case 'unsupported':
      return new UnsupportedError(message, options);
    case 'limit_exceeded':
      return new LimitExceededError(message, options);
    case 'aborted':
      return new AbortError(message, options);
    default: {
      const error = new HearthError(code, message, options);
      error.name = name;
      return error;
    }
  }
}

/** Details may hold anything, and one function among them must not turn an error into a `DataCloneError`. */
function cloneableDetails(details: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const result: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(details)) {
    try {
      result[key] = structuredClone(value);
    } catch {
      result[key] = String(value);
    }
  }
  return result;
}
