import { readFile } from 'node:fs/promises';
import tls from 'node:tls';
import { AbortError, throwIfAborted } from '@hearth/core';
import type { RequestInit, Response } from 'undici';
import { DownloadError } from './errors.ts';
import { describeFetchError } from './fetch-error.ts';
import { redactUrl } from './redact.ts';
import type { Settings } from './settings.ts';

/** `fetch` with the proxies, time limits and certificates of this run. Errors are typed and show no credentials. */
export interface HttpClient {
  /**
   * Follows redirects; `Authorization` is not sent on to another origin.
   * @throws DownloadError, AbortError
   */
  fetch(url: string | URL, init?: RequestInit): Promise<Response>;
  close(): Promise<void>;
}

/**
 * Node 20's own `fetch` knows neither proxy variables nor a connect time-out, hence undici as a dependency.
 *
 * @param certificateFile extra certificate authorities (PEM), as pip's `cert` option names them.
 */
export async function createHttpClient(settings: Settings, certificateFile?: string): Promise<HttpClient> {
  // Loaded here, because starting with a cached model should not wait for it (about 0.1 s).
  const { EnvHttpProxyAgent, fetch: undiciFetch } = await import('undici');
  const { env } = settings.surroundings;
  const authorities = certificateFile ? { ca: await certificateAuthorities(certificateFile, env) } : {};
  const connect = { timeout: settings.timeouts.connectMs, ...authorities };
  const dispatcher = new EnvHttpProxyAgent({
    ...proxiesOf(env),
    connect,
    proxyTls: connect,
    requestTls: connect,
    // Plain http goes to the proxy as an absolute URL, as curl does it: many proxies allow tunnels to port 443 only.
    proxyTunnel: false,
    headersTimeout: settings.timeouts.responseMs,
    bodyTimeout: settings.timeouts.idleMs,
  });
  return {
    async fetch(url, init = {}) {
      const signal = init.signal ?? settings.signal;
      throwIfAborted(signal ?? undefined);
      assertHttp(url);
      try {
        return await undiciFetch(url, { ...init, dispatcher, ...(signal ? { signal } : {}) });
      } catch (error) {
        if (signal?.aborted) throw new AbortError(undefined, { cause: signal.reason });
        throw describeFetchError(error, url, settings.timeouts);
      }
    },
    // Not close(): it would wait for answers that nobody reads any more.
    close: () => dispatcher.destroy(),
  };
}

function assertHttp(url: string | URL): void {
  const protocol = URL.canParse(url.toString()) ? new URL(url).protocol : '';
  if (protocol !== 'http:' && protocol !== 'https:') {
    throw new DownloadError(`Only http and https addresses can be downloaded, not ${redactUrl(url)}.`);
  }
}

/** An empty string tells the agent that there is no proxy; undefined would make it look at `process.env` itself. */
function proxiesOf(env: Settings['surroundings']['env']): { httpProxy: string; httpsProxy: string; noProxy: string } {
  const forAll = env.all_proxy || env.ALL_PROXY;
  return {
    httpProxy: withScheme(env.http_proxy || env.HTTP_PROXY || forAll),
    httpsProxy: withScheme(env.https_proxy || env.HTTPS_PROXY || forAll),
    noProxy: env.no_proxy ?? env.NO_PROXY ?? '',
  };
}

/** `proxy.example:3128` is a common spelling that would otherwise be read as a URL of scheme `proxy.example`. */
function withScheme(proxy: string | undefined): string {
  if (!proxy) return '';
  return proxy.includes('://') ? proxy : `http://${proxy}`;
}

/** Naming authorities replaces Node's defaults, so those are listed again, with the file that Node itself was given. */
async function certificateAuthorities(file: string, env: Settings['surroundings']['env']): Promise<string[]> {
  const files = [file, env.NODE_EXTRA_CA_CERTS].filter((name) => name !== undefined && name !== '');
  const read = await Promise.all(files.map((name) => readFile(name as string, 'utf8').catch(() => '')));
  return [...tls.rootCertificates, ...read.filter((pem) => pem.includes('BEGIN CERTIFICATE'))];
}

/**
 * Reads a small answer (an index page, a listing) as text.
 * @throws DownloadError when it is larger than `maxBytes` or breaks off.
 */
export async function readBoundedText(
  response: Response,
  maxBytes: number,
  timeouts: Settings['timeouts'],
): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of response.body ?? []) {
      size += chunk.byteLength;
      if (size > maxBytes) {
        throw new DownloadError(
          `${redactUrl(response.url)} answered with more than ${maxBytes} bytes where a listing was expected.`,
        );
      }
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof DownloadError) throw error;
    throw describeFetchError(error, response.url, timeouts);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Frees the connection of an answer that is not going to be read. */
export async function discardBody(response: Response): Promise<void> {
  await response.body?.cancel().catch(() => undefined);
}
