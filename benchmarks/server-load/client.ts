import { eventsOf } from '../server-sent-events.ts';
import type { Answer, LoadCase } from './cases.ts';

/** When a client goes away: so long after its request was sent, or after so many tokens; undefined stays to the end. */
export type Leaving = { readonly afterMs: number } | { readonly afterEvents: number } | undefined;

export interface StreamTimes {
  readonly firstTokenMs: number | undefined;
  /** Between what arrived one after the other. */
  readonly gapsMs: readonly number[];
}

interface Choice {
  readonly text?: string;
  readonly message?: { readonly content: string };
  readonly delta?: { readonly content?: string };
  readonly finish_reason: string | null;
}

interface Body {
  readonly choices: readonly Choice[];
  readonly usage?: { readonly completion_tokens: number } | null;
}

/** The answer to a request, in one piece. */
export async function ask(url: string, request: LoadCase): Promise<Answer> {
  const { choices, usage } = (await (await post(url, request, {})).json()) as Body;
  const { text, message, finish_reason } = choices[0]!;
  return {
    text: text ?? message!.content,
    finishReason: finish_reason!,
    completionTokens: usage!.completion_tokens,
  };
}

/** The same as a stream. The answer is undefined when the client went away before its end. */
export async function askStream(
  url: string,
  request: LoadCase,
  leaving: Leaving,
): Promise<{ readonly answer: Answer | undefined; readonly times: StreamTimes }> {
  const controller = new AbortController();
  const timer = leaving && 'afterMs' in leaving ? setTimeout(() => controller.abort(), leaving.afterMs) : undefined;
  const sentAt = performance.now();
  let lastAt: number | undefined;
  let firstTokenMs: number | undefined;
  const gapsMs: number[] = [];
  let [text, finishReason, completionTokens, numEvents] = ['', '', 0, 0];
  try {
    const options = { stream: true, stream_options: { include_usage: true } };
    for await (const events of eventsOf(await post(url, request, options, controller.signal))) {
      const now = performance.now();
      for (const event of events) {
        const { choices, usage, ...others } = JSON.parse(event) as Body;
        if ('error' in others) throw new Error(`The stream broke off: ${event}`);
        const [choice] = choices;
        const piece = choice?.text ?? choice?.delta?.content;
        text += piece ?? '';
        finishReason = choice?.finish_reason ?? finishReason;
        completionTokens = usage?.completion_tokens ?? completionTokens;
        if (piece === undefined) continue;
        numEvents++;
        firstTokenMs ??= now - sentAt;
        if (lastAt !== undefined) gapsMs.push(now - lastAt);
        lastAt = now;
      }
      if (!leaving || !('afterEvents' in leaving) || numEvents < leaving.afterEvents) continue;
      controller.abort();
      // In Node 20 a read waits for ever when its request is aborted at the very moment that all of it has come.
      break;
    }
  } catch (error) {
    if (!controller.signal.aborted) throw error;
  } finally {
    clearTimeout(timer);
  }
  const times = { firstTokenMs, gapsMs };
  return { answer: controller.signal.aborted ? undefined : { text, finishReason, completionTokens }, times };
}

async function post(url: string, { path, body }: LoadCase, more: object, signal?: AbortSignal): Promise<Response> {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ ...body, ...more }),
    ...(signal && { signal }),
  });
  if (response.ok) return response;
  throw new Error(`The server answered ${response.status}: ${await response.text()}`);
}
