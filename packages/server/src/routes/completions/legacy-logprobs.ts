import { z } from 'zod';
import type { TextLogprob, TopLogprob } from '../../generation/text-logprobs.ts';
import type { PromptLogprob } from './echo-prompt.ts';

/** What OpenAI writes for minus infinity, which JSON has no word for. */
export const leastLogprob = -9999;

const logprob = z.number().nullable();

export const legacyLogprobsSchema = z
  .object({
    tokens: z.array(z.string()).meta({ description: 'The part of each token in the text; joined, they are the text.' }),
    token_logprobs: z.array(logprob),
    top_logprobs: z
      .array(z.record(z.string(), z.number()).nullable())
      .meta({ description: 'By token: the most probable ones and the one that came.' }),
    text_offset: z
      .array(z.int())
      .meta({ description: 'Where each token begins in the text, in characters (code points).' }),
  })
  .meta({ id: 'CompletionLogprobs' });

export type LegacyLogprobsJson = z.output<typeof legacyLogprobsSchema>;

/** Writes the log-probabilities of one text in the form that completions have had from the beginning. */
export class LegacyLogprobs {
  #offset = 0;

  /** Those of the tokens that come next in the text. */
  write(tokens: readonly (PromptLogprob | TextLogprob)[]): LegacyLogprobsJson {
    return {
      tokens: tokens.map(({ text }) => text),
      token_logprobs: tokens.map(({ logprob }) => (logprob === null ? null : bounded(logprob))),
      top_logprobs: tokens.map(topOf),
      text_offset: tokens.map(({ text }) => this.#place(text)),
    };
  }

  #place(text: string): number {
    const offset = this.#offset;
    for (const _ of text) this.#offset++;
    return offset;
  }
}

/** Tokens of the same text are one entry here, which is that of the most probable. The one that came is called as in `tokens`. */
function topOf({ text, bytes, logprob, top }: PromptLogprob | TextLogprob): Record<string, number> | null {
  if (logprob === null) return null;
  const entries = new Map([[text, bounded(logprob)]]);
  for (const other of top) {
    const key = isEqual(other.bytes, bytes) ? text : keyOf(other);
    entries.set(key, Math.max(bounded(other.logprob), entries.get(key) ?? leastLogprob));
  }
  // Unlike an assignment, this makes `__proto__` an own member.
  return Object.fromEntries(entries);
}

/** Bytes that are no whole character are told apart in the way that OpenAI writes them. */
function keyOf({ text, bytes }: TopLogprob): string {
  if (!text.includes('\ufffd')) return text;
  return `bytes:${bytes.map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('')}`;
}

function isEqual(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}

function bounded(logprob: number): number {
  return Math.max(logprob, leastLogprob);
}
