import { bytesOf } from './byte-codec.ts';
import type { FakeModelFunction } from './fake-backend.ts';

/**
 * A model that writes `text` over and over, one byte a token: a byte of the text is followed by the next one, anything else
 * by the first. The bytes of the text must all be different.
 */
export function loopingScript(text: string): FakeModelFunction {
  const bytes = bytesOf(text);
  if (new Set(bytes).size !== bytes.length) throw new Error(`${JSON.stringify(text)} holds a byte twice.`);
  const next = new Map(bytes.map((byte, i) => [byte, bytes[(i + 1) % bytes.length]!]));
  return (context) => next.get(context.at(-1)!) ?? bytes[0]!;
}

/** A model whose next token depends on every token before it and their order, so that nothing can go wrong unseen. */
export function hashScript(numTokens = 256): FakeModelFunction {
  return (context) => {
    // FNV-1a, 32 bits.
    let hash = 0x811c9dc5;
    for (const id of context) hash = Math.imul(hash ^ id, 0x01000193) >>> 0;
    return hash % numTokens;
  };
}

/** A model that says `reply`, then the token `end`, after whatever `prompt` it was given; the prompt's length is fixed. */
export function replyScript(promptLength: number, reply: string, end: number): FakeModelFunction {
  const bytes = bytesOf(reply);
  return (context) => bytes[context.length - promptLength] ?? end;
}
