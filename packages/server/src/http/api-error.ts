import { HearthError } from '@hearth/core';

/** The `type` of an error body. Clients tell errors by their status; people and proxies read this. */
export type ApiErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'permission_error'
  | 'not_found_error'
  | 'rate_limit_error'
  | 'server_error';

export interface ApiErrorOptions {
  readonly status: number;
  readonly type?: ApiErrorType;
  /** The field of the request that is wrong, such as `messages[2].content`. */
  readonly param?: string | undefined;
  readonly code?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
}

/** What a client is told when its request cannot be answered. The message is written for the client: no paths, no addresses. */
export class ApiError extends HearthError {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly #type: ApiErrorType;
  readonly #param: string | undefined;
  readonly #code: string | undefined;

  constructor(message: string, options: ApiErrorOptions) {
    super('api_error', message, { cause: options.cause });
    this.status = options.status;
    this.headers = options.headers ?? {};
    this.#type = options.type ?? (options.status >= 500 ? 'server_error' : 'invalid_request_error');
    this.#param = options.param;
    this.#code = options.code;
  }

  /** The body of OpenAI's errors. */
  toJSON() {
    const { message } = this;
    return { error: { message, type: this.#type, param: this.#param ?? null, code: this.#code ?? null } };
  }
}

/** A 400 that names the field. */
export function badRequest(param: string, message: string, code?: string): ApiError {
  return new ApiError(message, { status: 400, param, code });
}
