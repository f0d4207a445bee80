import { InvalidArgumentError } from '@hearth/core';

/** A prompt longer than this cannot fit any context; reading stops there instead of filling memory. */
const maxPromptBytes = 64 * 1024 * 1024;

/** All of standard input as text, without its last newline. Empty when it is a terminal. */
export async function readPipedInput(input: NodeJS.ReadStream = process.stdin): Promise<string> {
  if (input.isTTY) return '';
  return (await readText(input, 'Standard input')).replace(/\r?\n$/, '');
}

/**
 * All of a stream as text.
 * @throws InvalidArgumentError when it is too large
 */
export async function readText(input: AsyncIterable<unknown>, name: string): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of input) {
    bytes += (chunk as Buffer).length;
    if (bytes > maxPromptBytes) {
      throw new InvalidArgumentError(`${name} is larger than ${maxPromptBytes} bytes; prompts cannot be that long.`);
    }
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString('utf8');
}
