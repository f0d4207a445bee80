import { isIP } from 'node:net';
import { InvalidArgumentError } from '@hearth/core';
import { ApiError } from './api-error.ts';

/** Makes the check of a server that has these names. Throws an ApiError for a request to another one. */
export type CheckRequest = (request: Request) => void;

const namedHost = /^([a-z0-9_.-]+|\[[0-9a-f:.]+\])(?::\d{0,5})?$/;

/**
 * Makes the guard against DNS rebinding: a web page whose name was resolved anew, to this machine, sends that name as Host.
 * localhost and IP addresses cannot be resolved to anything else, so they always pass.
 *
 * @param allowedHosts other names of the server, without ports; `*` lets everything pass
 * @returns throws ApiError 403 for a name that is not the server's
 * @throws InvalidArgumentError for an entry that is no host name
 */
export function createHostCheck(allowedHosts: readonly string[]): CheckRequest {
  const allowed = new Set(allowedHosts.map(checkEntry));
  if (allowed.has('*')) return () => {};
  return (request) => {
    // A target that is a whole address names a host of its own ("GET http://name/ HTTP/1.1"): both have to be ours.
    for (const host of [new URL(request.url).host, request.headers.get('host')]) {
      if (host === null) continue;
      const name = hostName(host.toLowerCase());
      if (name === undefined || !(isLocal(name) || allowed.has(name))) throw notAllowed(name ?? host);
    }
  };
}

function checkEntry(entry: string): string {
  const name = entry.toLowerCase();
  if (name === '*' || /^[a-z0-9_.-]+$/.test(name)) return withoutRoot(name);
  throw new InvalidArgumentError(
    `allowedHosts must hold names such as "server.example", without scheme and port, or "*", but one is ${JSON.stringify(entry)}.`,
    { details: { field: 'allowedHosts', received: entry } },
  );
}

/** Without port; undefined where it is no host. */
function hostName(host: string): string | undefined {
  const name = namedHost.exec(host)?.[1];
  return name && withoutRoot(name);
}

/** `localhost.` is `localhost`, written down to the root of all names. */
function withoutRoot(name: string): string {
  return name.replace(/\.$/, '');
}

function isLocal(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost') || isIP(name.replace(/^\[|\]$/g, '')) !== 0;
}

function notAllowed(host: string): ApiError {
  const shown = JSON.stringify(host.slice(0, 200));
  return new ApiError(
    `This server does not answer to the name ${shown}. If it is its name, add it to the allowed hosts.`,
    {
      status: 403,
      type: 'permission_error',
      code: 'host_not_allowed',
    },
  );
}
