import { AccessDeniedError, DownloadError } from './errors.ts';
import { redactUrl } from './redact.ts';
import type { Timeouts } from './settings.ts';

/** Codes of a connection that never came about. The next source is tried at once instead of waiting for this one. */
const unreachableCodes = new Map<string, (host: string, timeouts: Timeouts) => string>([
  ['ENOTFOUND', (host) => `the host name ${host} is not known here (no network, or a firewall)`],
  ['EAI_AGAIN', (host) => `the host name ${host} could not be looked up`],
  ['ECONNREFUSED', (host) => `${host} refused the connection`],
  ['EHOSTUNREACH', (host) => `there is no route to ${host}`],
  ['ENETUNREACH', (host) => `there is no network route to ${host}`],
  ['UND_ERR_CONNECT_TIMEOUT', (host, { connectMs }) => `${host} did not accept a connection within ${connectMs} ms`],
  ['ETIMEDOUT', (host) => `${host} did not accept a connection in time`],
  ['UND_ERR_HEADERS_TIMEOUT', (host, { responseMs }) => `${host} sent no answer within ${responseMs} ms`],
]);

/** Codes that OpenSSL and Node give when the certificate chain is not trusted. */
const certificateCodes = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_UNTRUSTED',
]);

/** Turns what `fetch` or a body stream threw into a sentence. The URL is shown without credentials and query. */
export function describeFetchError(error: unknown, url: string | URL, timeouts: Timeouts): DownloadError {
  const cause = innermost(error);
  const code = codeOf(cause);
  const shown = redactUrl(url);
  const host = URL.canParse(shown) ? new URL(shown).host : shown;
  const details = { url: shown, ...(code ? { code } : {}) };

  const unreachable = code ? unreachableCodes.get(code) : undefined;
  if (unreachable) {
    return new DownloadError(`${capitalize(unreachable(host, timeouts))}.`, {
      transient: true,
      unreachable: true,
      details,
    });
  }
  if (code && certificateCodes.has(code)) {
    return new DownloadError(
      `The certificate of ${host} is not trusted (${code}). Behind a proxy with its own authority set NODE_EXTRA_CA_CERTS to its PEM file.`,
      { details },
    );
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return new DownloadError(
      `The certificate that ${host} showed is for another host. Check the address and the proxy.`,
      { details },
    );
  }
  if (code === 'UND_ERR_BODY_TIMEOUT') {
    return new DownloadError(`${host} stopped sending for ${timeouts.idleMs} ms.`, { transient: true, details });
  }
  const message = cause instanceof Error ? cause.message : '';
  if (/HTTP Tunneling|Proxy Authentication/.test(message)) {
    return new DownloadError(`The proxy refused to connect to ${host}. Check HTTPS_PROXY, HTTP_PROXY and NO_PROXY.`, {
      unreachable: true,
      details,
    });
  }
  if (message === 'bad port') {
    return new DownloadError(`The port of ${host} is one that fetch refuses to connect to (a "bad port").`, {
      details,
    });
  }
  // Neither the message nor the error object of the library is passed on: both may quote URLs or headers.
  const reason = code ?? (cause instanceof Error ? cause.name : 'unknown reason');
  return new DownloadError(`The connection to ${host} broke (${reason}).`, { transient: code !== undefined, details });
}

/** `fetch` wraps the reason in one or two causes; trying several addresses wraps it in an AggregateError. */
function innermost(error: unknown): unknown {
  let current = error;
  for (let depth = 0; depth < 5; depth++) {
    const next = current instanceof Error ? current.cause : undefined;
    if (next === undefined || codeOf(current) !== undefined) break;
    current = next;
  }
  return current;
}

function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code } = error as Error & { code?: unknown };
  if (typeof code === 'string') return code;
  return error instanceof AggregateError ? codeOf(error.errors[0]) : undefined;
}

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** An HTTP status that is not a file, as a typed error. */
export function statusError(status: number, shownUrl: string): DownloadError | AccessDeniedError {
  if (status === 401 || status === 403) {
    return new AccessDeniedError(`${shownUrl} refused access (status ${status}). Check the token or the credentials.`, {
      details: { url: shownUrl, status },
    });
  }
  return new DownloadError(`${shownUrl} answered with status ${status}.`, {
    transient: isTransientStatus(status),
    details: { url: shownUrl, status },
  });
}

/** Answers that may be different in a moment: time-outs, too many requests, trouble inside the server. */
function isTransientStatus(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || status >= 500;
}
