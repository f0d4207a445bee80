import type { Model } from '@hearth/engine';
import { createFakeModel, fakeTokens, hashScript } from '@hearth/engine/test';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../__fixtures__/listening-server.ts';
import type { AnyJson } from '../__fixtures__/test-server.ts';
import { createServer, type HearthServer } from '../index.ts';

/** A server that is typed to, and one that hears finished messages only. */
let typed: { readonly server: HearthServer; readonly model: Model };
let plain: typeof typed;

/** Letters that depend on every token before them. */
const hash = hashScript(26);
const next = (context: readonly number[]) => (context.at(-1) === fakeTokens.bos ? 97 : 97 + (hash(context) as number));

async function start(): Promise<typeof typed> {
  const { model } = await createFakeModel({ next, contextLength: 512, cacheTokens: 2048, maxTokensPerStep: 32 });
  const load = async () => ({ model, dispose: () => model.dispose() });
  const server = createServer({ models: [{ name: 'fake', load }], draftTimeoutMs: 200 });
  await server.preload('fake');
  return { server, model };
}

beforeAll(async () => {
  [typed, plain] = await Promise.all([start(), start()]);
});

afterAll(() => Promise.all([typed.server.dispose(), plain.server.dispose()]));

async function post(server: HearthServer, path: string, body: object, signal?: AbortSignal): Promise<AnyJson> {
  const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
  const request = new Request(`http://localhost${path}`, { ...init, ...(signal && { signal }) });
  const response = await server.fetch(request);
  if (response.status !== 200 && !signal?.aborted) throw new Error(await response.text());
  return response.json();
}

/** What is heard of one key: in time, late, twice, not at all, or broken off by the client. */
type Fate = 'sent' | 'late' | 'twice' | 'lost' | 'broken off';

interface Typing {
  /** What the user types; `<` takes the last letter back. */
  readonly keys: readonly string[];
  readonly fates: readonly Fate[];
  /** Whether the client waits for each answer. */
  readonly waits: boolean;
  readonly numbers: boolean;
}

/** The drafts that the keys make one after the other. */
function draftsOf(keys: readonly string[]): string[] {
  let draft = '';
  return keys.map((key) => {
    draft = key === '<' ? draft.slice(0, -1) : draft + key;
    return draft;
  });
}

async function typeAndSend(
  conversation: string,
  messages: readonly object[],
  { keys, fates, waits, numbers }: Typing,
): Promise<{ readonly content: string; readonly answer: AnyJson }> {
  const drafts = draftsOf(keys);
  const composing: Promise<unknown>[] = [];
  const late: (() => void)[] = [];
  for (const [i, draft] of drafts.entries()) {
    const body = { conversation, messages, draft, ...(numbers && { revision: i }) };
    const fate = fates[i % fates.length]!;
    const send = (signal?: AbortSignal) => {
      composing.push(
        post(typed.server, '/v1/compose', body, signal).catch((error) => {
          if (!signal?.aborted) throw error;
        }),
      );
    };
    if (fate === 'lost') continue;
    if (fate === 'late') late.push(send);
    else send();
    if (fate === 'twice') send();
    if (fate === 'broken off') {
      const controller = new AbortController();
      send(controller.signal);
      setImmediate(() => controller.abort());
    }
    if (waits) await composing.at(-1);
    if (i % 5 === 4) for (const send of late.splice(0)) send();
  }
  const content = drafts.at(-1) || 'nothing';
  const body = { messages: [...messages, { role: 'user', content }], temperature: 0, max_tokens: 8, logprobs: true };
  const answering = post(typed.server, '/v1/chat/completions', { ...body, conversation });
  for (const send of late) send();
  const answer = await answering;
  await Promise.all(composing);
  const fresh = await post(plain.server, '/v1/chat/completions', body);
  expect(answer.choices).toEqual(fresh.choices);
  return { content, answer };
}

const typing = fc.record({
  keys: fc.array(fc.constantFrom('a', 'b', 'c', ' ', '<', 'the ', 'word'), { minLength: 1, maxLength: 24 }),
  fates: fc.array(fc.constantFrom<Fate>('sent', 'sent', 'late', 'twice', 'lost', 'broken off'), {
    minLength: 1,
    maxLength: 6,
  }),
  waits: fc.boolean(),
  numbers: fc.boolean(),
});

describe('an answer after random typing', () => {
  it('is the answer of a server that has heard the message only, over several turns', async () => {
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(typing, { minLength: 1, maxLength: 3 }), async (turns) => {
        const conversation = `c${run++ % 3}`;
        const messages: object[] = run % 2 === 0 ? [{ role: 'system', content: `Be brief, ${run % 5}.` }] : [];
        for (const turn of turns) {
          const { content, answer } = await typeAndSend(conversation, messages, turn);
          messages.push({ role: 'user', content }, answer.choices[0].message);
        }
      }),
      { numRuns: 40, seed: 7 },
    );
  });

  it('is right for 16 who type at once, and whose caches are too small for all of them', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(typing, { minLength: 16, maxLength: 16 }), async (users) => {
        const begins = (user: number) => [
          { role: 'user', content: `I am user ${user}. ${'Listen. '.repeat(30)}` },
          { role: 'assistant', content: 'yes' },
        ];
        await Promise.all(users.map((turn, user) => typeAndSend(`user ${user}`, begins(user), turn)));
      }),
      { numRuns: 4, seed: 7 },
    );
  });

  it('leaves nothing behind', async () => {
    await until(() => typed.model.stats().cache.numOwnedBlocks === 0);
    expect(typed.model.stats().requests).toMatchObject({ numRunning: 0, numWaiting: 0 });
    typed.model.checkIntegrity();
  });
});
