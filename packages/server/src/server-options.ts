import type { ConversationStore } from '@hearth/conversations';
import { InvalidArgumentError } from '@hearth/core';
import type { Model } from '@hearth/engine';
import { type Logger, silentLogger } from './logger.ts';
import type { PageHandler } from './page/page-files.ts';

/** A model that can be asked for by name. It is loaded when it is first used. */
export interface ModelDefinition {
  /** As requests and `/v1/models` have it. */
  readonly name: string;
  /** Other names that requests may use for it. */
  readonly aliases?: readonly string[] | undefined;
  /** Loads the model. Called again after it was unloaded, or when it failed. */
  load(options: LoadOptions): Promise<LoadedModel>;
}

export interface LoadOptions {
  readonly signal: AbortSignal;
  /** May be told how much of the work is done, from 0 to 1. `/v1/models` says it. */
  readonly onProgress: (part: number) => void;
}

export interface LoadedModel {
  readonly model: Model;
  /** Frees the model and all that was loaded for it. */
  dispose(): Promise<void>;
}

export interface ServerOptions {
  /** At least one. Requests that name none get the first. */
  readonly models: readonly ModelDefinition[];
  /** Keys of which requests must carry one, as bearer token or x-api-key. Default: none is needed. */
  readonly apiKeys?: readonly string[] | undefined;
  /** Origins of web pages that may use the server, such as `https://example.com`; `*` for all. Default: its own pages only. */
  readonly allowedOrigins?: readonly string[] | undefined;
  /**
   * Names under which the server may be addressed, besides localhost and IP addresses; `*` for all. Whoever is asked under
   * another name was perhaps resolved to this machine by a web page (DNS rebinding). Default: none.
   */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Most bytes of a body. Default: 4 MiB. */
  readonly maxBodyBytes?: number | undefined;
  /**
   * Most values of a body: numbers, texts, lists and so on; of whole numbers, such as token ids, four count as one. They are
   * read and checked between two steps of everything else, at some microseconds each. Default: 50,000.
   */
  readonly maxBodyValues?: number | undefined;
  /** How long a body may take to arrive, in milliseconds. Default: 30,000. */
  readonly bodyTimeoutMs?: number | undefined;
  /** How long an answer may take, waiting included, in milliseconds. Default: 600,000. */
  readonly requestTimeoutMs?: number | undefined;
  /** How long a client may leave a stream unread before it counts as gone, in milliseconds. Default: 60,000. */
  readonly stallTimeoutMs?: number | undefined;
  /** How long what was computed of a draft (`/v1/compose`) is kept after its last use, in milliseconds. Default: 60,000. */
  readonly draftTimeoutMs?: number | undefined;
  /** Most texts that one request may ask for: prompts times choices. Default: 64. */
  readonly maxChoices?: number | undefined;
  /** Unloads models that nobody has used for so long, in milliseconds. Default: never. */
  readonly idleTimeoutMs?: number | undefined;
  /** Where `/v1/conversations` keeps them. It stays the caller's, to be closed after the server. Default: there are none. */
  readonly conversations?: ConversationStore | undefined;
  /** Is asked for what lies outside the interface, for GET and HEAD; no key is needed. Default: there is nothing. */
  readonly page?: PageHandler | undefined;
  /** Default: silence. */
  readonly logger?: Logger | undefined;
  /** Write bodies of requests to the log, at level debug. Default: false. */
  readonly logPrompts?: boolean | undefined;
}

export type ResolvedServerOptions = Readonly<
  Required<{ [Name in keyof Omit<ServerOptions, 'conversations'>]: Exclude<ServerOptions[Name], undefined> }>
>;

/** Longest that a timer of JavaScript runs, in milliseconds. */
const mostTimerMs = 2 ** 31 - 1;

/**
 * Fills in the defaults.
 * @throws InvalidArgumentError for numbers that make no sense
 */
export function resolveServerOptions(options: ServerOptions): ResolvedServerOptions {
  const resolved = {
    models: options.models,
    apiKeys: options.apiKeys ?? [],
    allowedOrigins: options.allowedOrigins ?? [],
    allowedHosts: options.allowedHosts ?? [],
    maxBodyBytes: options.maxBodyBytes ?? 4 * 2 ** 20,
    maxBodyValues: options.maxBodyValues ?? 50_000,
    bodyTimeoutMs: options.bodyTimeoutMs ?? 30_000,
    requestTimeoutMs: options.requestTimeoutMs ?? 600_000,
    stallTimeoutMs: options.stallTimeoutMs ?? 60_000,
    draftTimeoutMs: options.draftTimeoutMs ?? 60_000,
    maxChoices: options.maxChoices ?? 64,
    idleTimeoutMs: options.idleTimeoutMs ?? Number.POSITIVE_INFINITY,
    page: options.page ?? (() => undefined),
    logger: options.logger ?? silentLogger,
    logPrompts: options.logPrompts ?? false,
  };
  for (const name of ['bodyTimeoutMs', 'requestTimeoutMs', 'stallTimeoutMs', 'draftTimeoutMs'] as const) {
    checkWhole(name, resolved[name], mostTimerMs);
  }
  for (const name of ['maxBodyBytes', 'maxBodyValues', 'maxChoices'] as const) {
    checkWhole(name, resolved[name], Number.MAX_SAFE_INTEGER);
  }
  if (resolved.idleTimeoutMs !== Number.POSITIVE_INFINITY) {
    checkWhole('idleTimeoutMs', resolved.idleTimeoutMs, mostTimerMs);
  }
  return resolved;
}

function checkWhole(field: string, value: number, most: number): void {
  if (Number.isInteger(value) && value >= 1 && value <= most) return;
  throw new InvalidArgumentError(`${field} must be a whole number from 1 to ${most}, got ${String(value)}.`, {
    details: { field, received: value },
  });
}
