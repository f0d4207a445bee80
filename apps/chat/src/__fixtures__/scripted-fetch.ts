/** What was asked of a server, as JSON. */
export interface AskedRequest {
  readonly method: string;
  readonly path: string;
  // biome-ignore lint/suspicious/noExplicitAny: bodies of any shape
  readonly body: any;
  readonly headers: Headers;
}

export type Answer = (request: AskedRequest, signal: AbortSignal | undefined) => Response | Promise<Response>;

/** A `fetch` that a test answers, and what was asked of it. */
export function scriptedFetch(answer: Answer): { fetch: typeof fetch; asked: AskedRequest[] } {
  const asked: AskedRequest[] = [];
  const scripted: typeof fetch = async (input, init = {}) => {
    init.signal?.throwIfAborted();
    const body = typeof init.body === 'string' ? JSON.parse(init.body) : undefined;
    const request = { method: init.method ?? 'GET', path: String(input), body, headers: new Headers(init.headers) };
    asked.push(request);
    return answer(request, init.signal ?? undefined);
  };
  return { fetch: scripted, asked };
}

export function errorAnswer(status: number, code: string, message = 'It is not so.'): Response {
  return Response.json({ error: { message, code } }, { status });
}

/** A stream of server-sent events that the test writes; it breaks off with the signal, as that of a browser does. */
export class ScriptedStream {
  readonly #encoder = new TextEncoder();
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  readonly response: Response;

  constructor(signal?: AbortSignal) {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#controller = controller;
      },
    });
    signal?.addEventListener('abort', () => this.fail(signal.reason));
    this.response = new Response(body);
  }

  data(text: string): void {
    this.#controller.enqueue(this.#encoder.encode(`data: ${text}\n\n`));
  }

  text(content: string, reasoning?: string): void {
    this.#choice({ content, ...(reasoning && { reasoning_content: reasoning }) }, null);
  }

  /** The end of an answer, as the server sends it. */
  end(finishReason = 'stop', [prompt, cached, completion]: readonly [number, number, number] = [10, 4, 3]): void {
    this.#choice({}, finishReason);
    const details = { prompt_tokens_details: { cached_tokens: cached } };
    const usage = { prompt_tokens: prompt, completion_tokens: completion, ...details };
    this.data(JSON.stringify({ choices: [], usage }));
    this.data('[DONE]');
    this.close();
  }

  close(): void {
    this.#controller.close();
  }

  fail(error: unknown): void {
    this.#controller.error(error);
  }

  #choice(delta: object, finishReason: string | null): void {
    this.data(JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finishReason }], usage: null }));
  }
}
