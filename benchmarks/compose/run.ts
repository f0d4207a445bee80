// How much sooner an answer begins when its message was computed while it was written. A message of so many tokens is typed in
// pieces with a pause after each, the last one a second long, and sent; the answer is one token, so the time is that to the
// first token. Rounds with and without composing alternate, each with a salt of its own, so that nothing comes from another
// round. The answers must be equal.
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { countFrom } from '../arguments.ts';
import { type RunningServer, startHearthServer } from '../hearth-server.ts';
import { plusMinus, table } from '../markdown-table.ts';
import { benchmarkModel } from '../models.ts';
import { commitName, machineName } from '../provenance.ts';
import { median, spread } from '../vs-llama-cpp/statistics.ts';

const { values } = parseArgs({
  options: {
    models: { type: 'string', default: 'smollm2,qwen2.5-0.5b-q4_0' },
    tokens: { type: 'string', default: '300' },
    pieces: { type: 'string', default: '10' },
    // Someone who types fast needs a minute for 300 tokens.
    'typing-ms': { type: 'string', default: '10000' },
    'pause-ms': { type: 'string', default: '1000' },
    rounds: { type: 'string', default: '7' },
    threads: { type: 'string', default: '2' },
  },
});
const numTokens = countFrom('tokens', values.tokens);
const numPieces = countFrom('pieces', values.pieces);
const typingMs = countFrom('typing-ms', values['typing-ms']);
const pauseMs = countFrom('pause-ms', values['pause-ms']);
const rounds = countFrom('rounds', values.rounds);
const numThreads = countFrom('threads', values.threads);
/** How much sooner the first token is to come. */
const aim = 5;

interface Answer {
  readonly choices: readonly { readonly message: unknown }[];
  readonly usage: {
    readonly prompt_tokens: number;
    readonly prompt_tokens_details: { readonly cached_tokens: number };
  };
}

const rows: string[][] = [];
for (const name of values.models.split(',')) rows.push(await measureModel(name));
console.log(
  `${machineName()}; ${numThreads} threads; commit ${commitName()}; a message of ${numTokens} tokens, typed in ${typingMs} ms with ${numPieces} pauses, sent ${pauseMs} ms after the last; ${rounds} rounds.\n`,
);
const columns = ['Model', 'Prompt tokens', 'Of them composed', 'First token without', 'With', 'Sooner by', 'Aim'];
console.log(table(columns, rows));

async function measureModel(name: string): Promise<string[]> {
  const { path } = await benchmarkModel(name);
  const flags = { '-m': `bench=${path}`, '--context': 1024, '--threads': numThreads };
  const server = await startHearthServer(Object.entries(flags).flatMap(([flag, value]) => [flag, `${value}`]));
  try {
    const message = await messageOf(server, numTokens);
    const without: number[] = [];
    const composed: number[] = [];
    let promptTokens = 0;
    let cachedTokens = 0;
    for (let round = 0; round <= rounds; round++) {
      const plain = await send(server, message, `plain ${round}`);
      await type(server, message, `composed ${round}`);
      const ahead = await send(server, message, `composed ${round}`);
      if (JSON.stringify(plain.answer.choices) !== JSON.stringify(ahead.answer.choices)) {
        throw new Error('The answers differ.');
      }
      // The first round warms, and does not count.
      if (round === 0) continue;
      without.push(plain.milliseconds);
      composed.push(ahead.milliseconds);
      promptTokens = ahead.answer.usage.prompt_tokens;
      cachedTokens = ahead.answer.usage.prompt_tokens_details.cached_tokens;
    }
    const ratios = without.map((milliseconds, round) => milliseconds / composed[round]!);
    const time = (all: readonly number[]) => `${median(all).toFixed(0)} ms ${plusMinus(spread(all))}`;
    return [
      name,
      `${promptTokens}`,
      `${cachedTokens}`,
      time(without),
      time(composed),
      `${median(ratios).toFixed(1)} × ${plusMinus(spread(ratios))}`,
      `${aim} × ${median(ratios) >= aim ? 'reached' : 'missed'}`,
    ];
  } finally {
    await server.stop();
  }
}

/** The message as it grows, piece by piece, each with its last word unfinished. */
async function type(server: RunningServer, message: string, salt: string): Promise<void> {
  const composing: Promise<unknown>[] = [];
  for (let piece = 1; piece <= numPieces; piece++) {
    const draft = message.slice(0, Math.ceil((piece / numPieces) * message.length));
    const body = { conversation: 'c', cache_salt: salt, messages: [], draft, revision: piece };
    composing.push(post(server, '/v1/compose', body));
    await sleep(piece < numPieces ? typingMs / numPieces : pauseMs);
  }
  await Promise.all(composing);
}

async function send(server: RunningServer, message: string, salt: string) {
  const body = {
    messages: [{ role: 'user', content: message }],
    conversation: 'c',
    cache_salt: salt,
    temperature: 0,
    max_tokens: 1,
    ignore_eos: true,
  };
  const startedAt = performance.now();
  const answer = (await post(server, '/v1/chat/completions', body)) as Answer;
  return { answer, milliseconds: performance.now() - startedAt };
}

/** Words of which the model's tokenizer makes as many tokens. */
async function messageOf(server: RunningServer, numTokens: number): Promise<string> {
  let message = 'Tell me';
  for (let word = 0; ; word++) {
    message += ` ${['about', 'the', 'river', 'and', 'its', 'bridges', 'near', 'an', 'old', 'town'][word % 10]}`;
    const { count } = (await post(server, '/tokenize', { content: message })) as { readonly count: number };
    if (count >= numTokens) return message;
  }
}

async function post(server: RunningServer, path: string, body: object): Promise<unknown> {
  const response = await fetch(`${server.url}${path}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`The server answered ${response.status}: ${await response.text()}`);
  return response.json();
}
