import { ServerError } from './server-error.ts';

export interface ServerClientOptions {
  /** Where the server is. Default: where the page came from. */
  readonly base?: string;
  readonly fetch?: typeof fetch;
  /** Keeps the key while the tab is open. */
  readonly keys?: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;
}

export interface AskOptions {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

const keyName = 'hearth-key';

/** Speaks to the server. Where that wants a key, requests wait until there is one. */
export class ServerClient {
  readonly #base: string;
  readonly #fetch: typeof fetch;
  readonly #keys: ServerClientOptions['keys'];
  readonly #waiting = new Set<() => void>();
  /** Is told whether a key is wanted. */
  onKeyWanted: (isWanted: boolean) => void = () => {};

  constructor({ base = '', fetch: fetchOf = (...args) => fetch(...args), keys }: ServerClientOptions = {}) {
    this.#base = base;
    this.#fetch = fetchOf;
    this.#keys = keys;
  }

  /** Gives the requests that wait a key to try. */
  useKey(key: string): void {
    this.#keys?.setItem(keyName, key);
    this.onKeyWanted(false);
    for (const goOn of this.#waiting) goOn();
    this.#waiting.clear();
  }

  /**
   * The answer, if it is one.
   * @throws ServerError for every other status, and when the server cannot be reached; the reason of the signal
   */
  async ask(path: string, { method = 'GET', body, signal }: AskOptions = {}): Promise<Response> {
    const key = this.#keys?.getItem(keyName);
    const init: RequestInit = {
      method,
      headers: {
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...(key && { Authorization: `Bearer ${key}` }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    };
    const response = await this.#send(path, init);
    if (response.ok) return response;
    if (response.status === 401) {
      // Another request may have brought a key meanwhile.
      if (this.#keys?.getItem(keyName) === key) await this.#waitForKey(signal);
      return this.ask(path, { method, body, signal });
    }
    throw await errorOf(response);
  }

  async json<Answer>(path: string, options?: AskOptions): Promise<Answer> {
    const response = await this.ask(path, options);
    return (await response.json()) as Answer;
  }

  async #send(path: string, init: RequestInit): Promise<Response> {
    try {
      return await this.#fetch(this.#base + path, init);
    } catch (error) {
      init.signal?.throwIfAborted();
      throw new ServerError('The server cannot be reached. Is it running?', { status: 0, cause: error });
    }
  }

  #waitForKey(signal: AbortSignal | undefined): Promise<void> {
    this.#keys?.removeItem(keyName);
    this.onKeyWanted(true);
    return new Promise((resolve, reject) => {
      this.#waiting.add(resolve);
      signal?.addEventListener('abort', () => {
        this.#waiting.delete(resolve);
        reject(signal.reason);
      });
    });
  }
}

async function errorOf(response: Response): Promise<ServerError> {
  const body = (await response.json().catch(() => undefined)) as { error?: { message?: string; code?: string } };
  const message = body?.error?.message ?? `The server answered with status ${response.status}.`;
  return new ServerError(message, { status: response.status, code: body?.error?.code });
}
