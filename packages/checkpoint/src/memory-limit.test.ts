import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import {
  array,
  concat,
  entry,
  ggufBytes,
  llamaEntries,
  llamaTensors,
  text,
  u32,
  u64,
} from './__fixtures__/gguf-bytes.ts';
import { safetensorsBytes } from './__fixtures__/safetensors-bytes.ts';
import { putFile, temporaryDirectory } from './__fixtures__/temporary-directory.ts';
import { metadataLimits } from './gguf/read-metadata.ts';

const run = promisify(execFile);
const directory = await temporaryDirectory();

const withEntry = (bytes: Uint8Array) => ggufBytes({ entries: [...llamaEntries(), bytes] });

/** As many empty strings as the reader accepts, then as much text as it accepts: the most that a file can make it keep. */
function largestAcceptedMetadata(): Uint8Array {
  const empty = concat(
    u32(8),
    u64(metadataLimits.arrayElements - 100),
    new Uint8Array(8 * (metadataLimits.arrayElements - 100)),
  );
  // Characters outside Latin-1 take two bytes in memory; one of them makes the whole string take two a character.
  const long = new Uint8Array(metadataLimits.stringBytes - 10_000).fill(0x61);
  long.set([0xe9, 0x9b, 0xaa]);
  return ggufBytes({ entries: [...llamaEntries(), entry('x', 'array', empty), entry('y', 'string', text(long))] });
}

describe('a process with 512 MB', () => {
  it('refuses or opens what claims or holds a lot, without running out of memory', async () => {
    const files: [string, Uint8Array][] = [
      ['tensors.gguf', ggufBytes({ numTensors: 2n ** 62n })],
      ['keys.gguf', ggufBytes({ numEntries: 2n ** 40n })],
      ['array.gguf', withEntry(entry('x', 'array', array('u8', [], 2n ** 36n)))],
      ['strings.gguf', withEntry(entry('x', 'array', array('string', [], 2n ** 61n)))],
      ['string.gguf', withEntry(entry('x', 'string', text('abc', 2n ** 63n)))],
      [
        'dims.gguf',
        ggufBytes({
          tensors: [...llamaTensors(), { name: 'x', dims: [4, 2 ** 30 - 1, 2 ** 30 + 1], data: new Uint8Array(64) }],
        }),
      ],
      ['layers.gguf', ggufBytes({ entries: llamaEntries({ 'llama.block_count': ['u32', u32(2 ** 32 - 1)] }) })],
      ['heads.gguf', ggufBytes({ entries: llamaEntries({ 'llama.attention.head_count': ['u32', u32(2 ** 32 - 1)] }) })],
    ];
    const paths: string[] = [];
    for (const [name, bytes] of files) paths.push(await putFile(directory, name, bytes));
    await putFile(directory, 'config.json', '{}');
    paths.push(await putFile(directory, 'length.safetensors', safetensorsBytes('{}', new Uint8Array(8), 2n ** 63n)));
    paths.push(await putFile(directory, 'deep.safetensors', safetensorsBytes(`{"a":${'['.repeat(5_000_000)}`)));
    const accepted = await putFile(directory, 'large.gguf', largestAcceptedMetadata());

    const script = fileURLToPath(new URL('./__fixtures__/open-each.ts', import.meta.url));
    const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
    const nodeOptions = ['--max-old-space-size=512', '--conditions=@hearth/source', '--import', tsx];
    const { stdout } = await run(process.execPath, [...nodeOptions, script, ...paths, accepted], {
      cwd: directory,
    });
    const results = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { code: string; message: string });
    expect(results.map(({ code }) => code)).toEqual([...paths.map(() => 'invalid_model'), 'opened']);
  });
});
