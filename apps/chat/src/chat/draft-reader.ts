import { composeDraft, type Draft } from '../server/compose-draft.ts';
import type { ServerClient } from '../server/server-client.ts';
import { isAbort, messageOf, ServerError } from '../server/server-error.ts';

/** How much of a draft the server has read. */
export type Reading =
  | { readonly state: 'idle' }
  | { readonly state: 'reading' }
  | { readonly state: 'read'; readonly readTokens: number; readonly totalTokens: number }
  | { readonly state: 'failed'; readonly problem: string };

const pauseMs = 200;

/** Sends drafts ahead when typing pauses. Nothing depends on it but time: what goes wrong here is shown, and that is all. */
export class DraftReader {
  readonly #client: ServerClient;
  readonly #onChange: (reading: Reading) => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #running: AbortController | undefined;
  #revision = 0;
  /** The server does not know how. */
  #isOff = false;

  constructor(client: ServerClient, onChange: (reading: Reading) => void) {
    this.#client = client;
    this.#onChange = onChange;
  }

  /** Something was typed: what runs is of no more use. `makeDraft` is asked when typing has paused. */
  typed(makeDraft: () => Omit<Draft, 'revision'>): void {
    this.cancel();
    if (this.#isOff) return;
    this.#timer = setTimeout(() => void this.read(makeDraft()), pauseMs);
  }

  /** Input has begun that may still become something else; or the message was sent. */
  cancel(): void {
    clearTimeout(this.#timer);
    this.#running?.abort();
    this.#running = undefined;
    this.#onChange({ state: 'idle' });
  }

  /** Has a draft read at once. */
  async read(draft: Omit<Draft, 'revision'>): Promise<void> {
    this.cancel();
    if (this.#isOff) return;
    const controller = new AbortController();
    this.#running = controller;
    this.#onChange({ state: 'reading' });
    const reading = await this.#readingOf(draft, controller.signal);
    if (this.#running === controller) this.#onChange(reading);
  }

  async #readingOf(draft: Omit<Draft, 'revision'>, signal: AbortSignal): Promise<Reading> {
    try {
      const read = await composeDraft(this.#client, { ...draft, revision: ++this.#revision }, signal);
      if (read.isSuperseded) return { state: 'idle' };
      return { state: 'read', readTokens: read.readTokens, totalTokens: read.readTokens + read.heldBackTokens };
    } catch (error) {
      if (isAbort(error)) return { state: 'idle' };
      if (error instanceof ServerError && error.code === 'not_found') {
        this.#isOff = true;
        return { state: 'idle' };
      }
      return { state: 'failed', problem: messageOf(error) };
    }
  }
}
