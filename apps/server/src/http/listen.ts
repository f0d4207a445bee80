import { createServer as createHttpServer, type Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { HearthError } from '@hearth/core';
import { ApiError, type HearthServer } from '@hearth/server';
import { getRequestListener } from '@hono/node-server';
import { answerClientErrors } from './client-errors.ts';
import type { TlsIdentity } from './tls.ts';

export interface ListenOptions {
  readonly fetch: HearthServer['fetch'];
  readonly host: string;
  /** 0 takes any free one. */
  readonly port: number;
  /** Speaks HTTPS with it, HTTP without. */
  readonly tls?: TlsIdentity | undefined;
  /** How long a request may take to arrive, in milliseconds. */
  readonly requestTimeoutMs: number;
  /** Told of connections that could not be taken, such as for want of file descriptors. */
  readonly onError: (error: Error) => void;
}

export interface Listener {
  /** `http://127.0.0.1:8080` */
  readonly url: string;
  /** Takes no more connections, lets what is being sent out for a second at most, and closes the others. */
  close(): Promise<void>;
}

/** Proxies keep connections for 60 s; one that we close a moment earlier costs them a request. */
const keepAliveTimeout = 65_000;

/** Headers are short; whoever sends them byte by byte wants to hold the connection. */
const mostHeadersMs = 15_000;

const mostClosingMs = 1000;

const unusableAddress = new ApiError('The address or the Host header of the request is not valid.', {
  status: 400,
  code: 'malformed_request',
});

/**
 * Answers HTTP requests at an address.
 * @throws ListenError when it cannot be used
 */
export async function listen(options: ListenOptions): Promise<Listener> {
  const server = createServer(options);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(new ListenError(error, options)));
    server.listen({ host: options.host, port: options.port }, resolve);
  });
  server.removeAllListeners('error').on('error', options.onError);
  return { url: urlOf(server, options), close: () => close(server) };
}

/** The address cannot be used. */
export class ListenError extends HearthError {
  constructor(cause: NodeJS.ErrnoException, { host, port }: Pick<ListenOptions, 'host' | 'port'>) {
    super('listen_failed', `The server cannot listen on port ${port} of ${host}: ${reason(cause)}`, { cause });
  }
}

function reason({ code, message }: NodeJS.ErrnoException): string {
  if (code === 'EADDRINUSE') return 'something else does. End it, or choose another with --port.';
  if (code === 'EACCES') return 'it is not allowed to. Choose a port from 1024 with --port.';
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    return 'that is no address of this machine. Choose another with --host.';
  }
  return `${message}.`;
}

function createServer({ fetch, tls, requestTimeoutMs }: ListenOptions): Server {
  const listener = getRequestListener(fetch, {
    // HTTP/1.0 has no Host, and probes of load balancers speak it. Browsers, which Host protects from others, always send one.
    hostname: 'localhost',
    errorHandler: () => Response.json(unusableAddress, { status: unusableAddress.status }),
  });
  const limits = {
    keepAliveTimeout,
    requestTimeout: requestTimeoutMs,
    headersTimeout: Math.min(mostHeadersMs, requestTimeoutMs),
    // How often Node looks whether one of them is over.
    connectionsCheckingInterval: Math.min(5000, requestTimeoutMs),
  };
  const server = tls
    ? createHttpsServer({ ...limits, ...tls, minVersion: 'TLSv1.2', handshakeTimeout: 10_000 }, listener)
    : createHttpServer(limits, listener);
  answerClientErrors(server);
  server.on('request', (_, response) => {
    response.once('close', () => {
      // It would be kept for a next request, and the process with it.
      if (!server.listening) server.closeIdleConnections();
    });
  });
  return server;
}

async function close(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), mostClosingMs);
  await closed.finally(() => clearTimeout(timer));
}

function urlOf(server: Server, { host, tls }: ListenOptions): string {
  const { address, family, port } = server.address() as AddressInfo;
  // Names stay as they were given: a certificate is made for them.
  const name = family === 'IPv6' && host === address ? `[${address}]` : host;
  return `${tls ? 'https' : 'http'}://${name}:${port}`;
}
