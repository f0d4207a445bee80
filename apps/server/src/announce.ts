import { explainThreads, printable } from '@hearth/command-line';
import type { BackendInfo } from '@hearth/core';
import type { Logger } from 'pino';
import { isLoopback } from './http/is-loopback.ts';
import type { FoundModel } from './models/find-models.ts';
import type { Settings } from './settings/settings.ts';

export interface Announcement {
  readonly url: string;
  readonly hasPage: boolean;
  readonly models: readonly FoundModel[];
  readonly backend: BackendInfo;
  readonly settings: Settings;
  readonly apiKeys: readonly string[];
  readonly logger: Logger;
}

/** Says on standard output where the server is and what it serves. */
export function announce({ url, hasPage, models, backend, settings, apiKeys, logger }: Announcement): void {
  const names = models.map(({ name, aliases }) => [name, ...aliases].join(' = ')).join(', ');
  const lines = [
    `Listening on ${url}`,
    ...(hasPage ? [`Chat page: ${url}/`] : []),
    `${models.length === 1 ? 'Model' : 'Models'}: ${names}`,
    explainThreads(backend, { wanted: settings.threads }),
  ];
  process.stdout.write(`${printable(lines.join('\n'))}\n`);
  if (apiKeys.length === 0 && !isLoopback(settings.host)) {
    logger.warn({ host: settings.host }, 'whoever can reach this address may use the models: there are no API keys');
  }
}
