import { InvalidArgumentError } from '@hearth/core';
import { ApiError } from './api-error.ts';
import type { CheckRequest } from './check-host.ts';

/** Of the web, or of what shows web pages otherwise: `chrome-extension://…`, `tauri://localhost`. */
const anyOrigin = /^[a-z][a-z0-9+.-]*:\/\/[^/?#@\s]+$/;

/**
 * Makes the guard against pages of other sites. Browsers say with Origin whose page sends a request; programs send none and
 * pass. So do pages that the server itself has sent: same scheme, same name, same port.
 *
 * @param allowedOrigins whose pages pass, too, each exactly as browsers write it; `*` for all
 * @returns throws ApiError 403 for another origin
 * @throws InvalidArgumentError for an entry that is no origin as browsers write it
 */
export function createOriginCheck(allowedOrigins: readonly string[]): CheckRequest {
  for (const entry of allowedOrigins) checkEntry(entry);
  const allowed = new Set(allowedOrigins);
  if (allowed.has('*')) return () => {};
  return (request) => {
    const origin = request.headers.get('origin');
    if (origin === null || allowed.has(origin) || origin === new URL(request.url).origin) return;
    const shown = JSON.stringify(origin.slice(0, 200));
    throw new ApiError(`Pages of ${shown} may not use this server. If they shall, add it to the allowed origins.`, {
      status: 403,
      type: 'permission_error',
      code: 'origin_not_allowed',
    });
  };
}

function checkEntry(entry: string): void {
  if (entry === '*') return;
  const isOfTheWeb = /^https?:/.test(entry);
  if (anyOrigin.test(entry) && (!isOfTheWeb || (URL.canParse(entry) && new URL(entry).origin === entry))) return;
  throw new InvalidArgumentError(
    `allowedOrigins must hold origins as browsers write them, such as "https://example.com", without path and slash at the end, or "*", but one is ${JSON.stringify(entry)}.`,
    { details: { field: 'allowedOrigins', received: entry } },
  );
}
