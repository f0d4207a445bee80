import { openBackend } from '@hearth/command-line';
import { createServer, type HearthServer, type LoadOptions } from '@hearth/server';
import type { Logger } from 'pino';
import { announce } from './announce.ts';
import { openConversations } from './conversations/open-conversations.ts';
import { listen } from './http/listen.ts';
import { readTlsIdentity } from './http/tls.ts';
import { createLogger } from './log/create-logger.ts';
import { logReporter } from './log/log-reporter.ts';
import { type FoundModel, findModels } from './models/find-models.ts';
import { loadFoundModel } from './models/load-found-model.ts';
import { readChatPage } from './page.ts';
import { readApiKeys } from './settings/api-keys.ts';
import type { Settings } from './settings/settings.ts';

/**
 * Serves models until the signal fires. Then it refuses new requests, lets those that run end within the drain limit, and
 * sets exit code 0. What cannot work (settings, keys, certificate, models, conversations, port) fails before the first request
 * is taken.
 *
 * @throws UsageError | ListenError | AbortError, and what finding and loading models throws
 */
export async function serve(settings: Settings, signal: AbortSignal): Promise<void> {
  const { tlsCertificate, tlsKey } = settings;
  const apiKeys = await readApiKeys(settings.apiKeyFile);
  const tls = tlsCertificate && tlsKey ? await readTlsIdentity(tlsCertificate, tlsKey) : undefined;
  const models = await findModels(settings, signal);
  const logger = createLogger(settings);
  const page = settings.page ? await readChatPage() : undefined;
  if (settings.page && !page) logger.warn('the chat page is not there: it has not been built');
  const backend = await openBackend(settings);
  try {
    const conversations = openConversations(settings, logger);
    const files = { page, conversations };
    const server = createServer({ ...serverOptions(settings), apiKeys, logger, ...files, models: definitions() });
    try {
      const listener = await listen({
        ...settings,
        fetch: server.fetch,
        tls,
        requestTimeoutMs: 1000 * settings.bodyTimeout,
        onError: (err) => logger.error({ err }, 'connection could not be taken'),
      });
      try {
        announce({
          url: listener.url,
          hasPage: page !== undefined,
          models,
          backend: backend.info,
          settings,
          apiKeys,
          logger,
        });
        await workUntil(signal, preload(server, models, settings));
        await drain(server, settings, logger);
      } finally {
        await listener.close();
      }
    } finally {
      await server.dispose();
      conversations?.close();
    }
  } finally {
    await backend.dispose();
  }

  function definitions() {
    const options = { backend, machine: settings };
    return models.map((model) => ({
      name: model.name,
      aliases: model.aliases,
      load: ({ signal, onProgress }: LoadOptions) =>
        loadFoundModel(model, { ...options, signal, reporter: logReporter(logger, onProgress) }),
    }));
  }
}

function serverOptions(settings: Settings) {
  const { allowedOrigins, allowedHosts, maxBody, maxChoices, logPrompts, idleTimeout } = settings;
  return {
    allowedOrigins,
    allowedHosts,
    maxBodyBytes: maxBody,
    maxChoices,
    logPrompts,
    bodyTimeoutMs: 1000 * settings.bodyTimeout,
    requestTimeoutMs: 1000 * settings.requestTimeout,
    stallTimeoutMs: 1000 * settings.stallTimeout,
    draftTimeoutMs: 1000 * settings.draftTimeout,
    ...(idleTimeout > 0 && { idleTimeoutMs: 1000 * idleTimeout }),
  };
}

/** Resolves when the signal fires, and not before, though the work be done; rejects when the work fails before. */
async function workUntil(signal: AbortSignal, work: Promise<void>): Promise<void> {
  let onAbort = () => {};
  const aborted = new Promise<void>((resolve) => {
    onAbort = resolve;
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  await Promise.race([aborted, work.then(() => aborted)]);
}

async function preload(server: HearthServer, models: readonly FoundModel[], settings: Settings): Promise<void> {
  if (!(settings.preload ?? models.length === 1)) return;
  try {
    for (const { name } of models) await server.preload(name);
  } catch (error) {
    // What a client may be told is less than what whoever starts the server needs to know.
    throw (error as Error).cause ?? error;
  }
}

async function drain(server: HearthServer, { drainTimeout }: Settings, logger: Logger): Promise<void> {
  logger.info({ seconds: drainTimeout }, 'shutting down: no new requests, running ones may end');
  await server.drain({ timeoutMs: 1000 * drainTimeout });
  process.exitCode = 0;
}
