import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { InvalidArgumentError } from '@hearth/core';
import {
  defaultCacheDirectory,
  expandHome,
  huggingFaceHome,
  type Surroundings,
  surroundingsOf,
} from './cache-directory.ts';
import { catalogue as builtInCatalogue, type CatalogueEntry } from './catalogue.ts';
import type { PullProgress, PullWarning } from './progress.ts';

/** Time limits of one request, in milliseconds. */
export interface Timeouts {
  /** From the start of a connection to its end of handshake; short, because another source may be waiting. Default 5,000. */
  connectMs: number;
  /** From the request to the first line of the answer. Default 20,000. */
  responseMs: number;
  /** Between two pieces of a body. Default 30,000. */
  idleMs: number;
}

/** How often a broken transfer is taken up again. */
export interface RetryPolicy {
  /** Attempts in a row without real progress before giving up. Default 5. */
  attempts: number;
  /** Wait before the second attempt; doubled each time, up to 15 s. Default 500. */
  baseDelayMs: number;
}

/** What every function of this package takes. All of it is optional; the environment decides what is left out. */
export interface HubOptions {
  /** Where models are kept. Default: `HEARTH_CACHE`, else the platform's cache directory. */
  cacheDirectory?: string;
  /** Never touch the network. Default: `HEARTH_OFFLINE` or `HF_HUB_OFFLINE`. */
  offline?: boolean;
  /** Stops the work; what was downloaded is kept and resumed next time. */
  signal?: AbortSignal;
  /** Called at most about 20 times a second while a model is fetched. */
  onProgress?: (progress: PullProgress) => void;
  /** Called when a source fails and the next one is tried. Default: `process.emitWarning` for wrong bytes only. */
  onWarning?: (warning: PullWarning) => void;
  /** Hugging Face access token. Default: `HF_TOKEN`, else the token file of `hf auth login`. */
  token?: string;
  /** Base address of the Hugging Face hub or a mirror. Default: `HF_ENDPOINT`, else https://huggingface.co. */
  endpoint?: string;
  /** Where relative paths start. Default: `process.cwd()`. */
  workingDirectory?: string;
  /** Environment variables. Default: `process.env`. */
  env?: Readonly<Record<string, string | undefined>>;
  /** Models known by name. Default: the exported `catalogue`. */
  catalogue?: readonly CatalogueEntry[];
  timeouts?: Partial<Timeouts>;
  retry?: Partial<RetryPolicy>;
}

/** `HubOptions` with every default filled in. */
export interface Settings {
  surroundings: Surroundings;
  workingDirectory: string;
  cacheDirectory: string;
  offline: boolean;
  signal: AbortSignal | undefined;
  onProgress: ((progress: PullProgress) => void) | undefined;
  onWarning: (warning: PullWarning) => void;
  endpoint: string;
  token: string | undefined;
  catalogue: readonly CatalogueEntry[];
  timeouts: Timeouts;
  retry: RetryPolicy;
}

/**
 * @throws InvalidArgumentError for an endpoint that is no http(s) address or a token that cannot be sent.
 */
export async function settingsOf(options: HubOptions): Promise<Settings> {
  const surroundings = surroundingsOf(options.env);
  const { env } = surroundings;
  const workingDirectory = options.workingDirectory ?? process.cwd();
  return {
    surroundings,
    workingDirectory,
    cacheDirectory: cacheDirectoryOf(options),
    offline: options.offline ?? (isSwitchedOn(env.HEARTH_OFFLINE) || isSwitchedOn(env.HF_HUB_OFFLINE)),
    signal: options.signal,
    onProgress: options.onProgress,
    onWarning: options.onWarning ?? warnOfWrongBytes,
    endpoint: readEndpoint(options.endpoint || env.HF_ENDPOINT || 'https://huggingface.co'),
    token: checkToken(options.token ?? (await findToken(surroundings))),
    catalogue: options.catalogue ?? builtInCatalogue,
    timeouts: { connectMs: 5_000, responseMs: 20_000, idleMs: 30_000, ...options.timeouts },
    retry: { attempts: 5, baseDelayMs: 500, ...options.retry },
  };
}

/** The directory that models are kept in. */
export function cacheDirectoryOf(options: Pick<HubOptions, 'cacheDirectory' | 'env' | 'workingDirectory'>): string {
  const surroundings = surroundingsOf(options.env);
  return options.cacheDirectory
    ? path.resolve(options.workingDirectory ?? process.cwd(), expandHome(options.cacheDirectory, surroundings))
    : defaultCacheDirectory(surroundings);
}

/** An unreachable first source is everyday life and silent; a source with other bytes than promised is news. */
function warnOfWrongBytes(warning: PullWarning): void {
  if (warning.error.code === 'checksum_mismatch') process.emitWarning(warning.message, 'HearthHubWarning');
}

/** The spellings that huggingface_hub takes for yes. */
export function isSwitchedOn(value: string | undefined): boolean {
  return ['1', 'ON', 'YES', 'TRUE'].includes((value ?? '').toUpperCase());
}

function readEndpoint(endpoint: string): string {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password) {
    throw new InvalidArgumentError(
      'The Hugging Face endpoint (HF_ENDPOINT) must be an http or https address without user name and password, such as https://huggingface.co.',
    );
  }
  return (url.origin + url.pathname).replace(/\/+$/, '');
}

async function findToken(surroundings: Surroundings): Promise<string | undefined> {
  const { env } = surroundings;
  const named = env.HF_TOKEN || env.HUGGING_FACE_HUB_TOKEN;
  if (named) return named;
  const file = env.HF_TOKEN_PATH
    ? expandHome(env.HF_TOKEN_PATH, surroundings)
    : path.join(huggingFaceHome(surroundings), 'token');
  return readFile(file, 'utf8').catch(() => undefined);
}

/** HTTP libraries quote a header value that they cannot send, so a damaged token must never get that far. */
function checkToken(token: string | undefined): string | undefined {
  const trimmed = token?.trim();
  if (!trimmed) return undefined;
  if (!/^[\x21-\x7e]+$/.test(trimmed)) {
    throw new InvalidArgumentError(
      'The Hugging Face token (HF_TOKEN or the token file) holds blanks or characters that cannot be sent. Copy it again from https://huggingface.co/settings/tokens.',
    );
  }
  return trimmed;
}
