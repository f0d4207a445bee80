import { readFile } from 'node:fs/promises';
import type { SamplingParams } from '@hearth/sampler';

/** What a model is asked to write, and how many times as fast guesses shall make it at least. */
export interface Text {
  readonly name: string;
  readonly prompt: string;
  sampling(round: number): SamplingParams;
  readonly aim: number;
}

/**
 * A file of this repository, then the same file begun again with another name for its class: a model goes on copying and
 * renaming, as when it is asked for a small change, and need not understand an instruction for it. About 200 tokens are left
 * to write.
 */
async function copiedCode(): Promise<Text> {
  const source = await readFile(new URL('../contention/busy-loop.ts', import.meta.url), 'utf8');
  const renamed = source.replaceAll('BusyLoop', 'Distraction');
  // Up to the end of a line, but not the line break: tokens go on into the blanks behind it.
  const begun = renamed.slice(0, renamed.indexOf('\n', renamed.indexOf('class Distraction')));
  return {
    name: 'code, copied with one name changed',
    prompt: `// before\n${source}\n// after\n${begun}`,
    sampling: () => ({ temperature: 0 }),
    aim: 1.8,
  };
}

/** Text in which little comes twice. Every round has a story of its own. */
const freshProse: Text = {
  name: 'fresh prose, temperature 0.8',
  prompt: 'It was a cold evening in November when the old lighthouse keeper heard a knock at the door. ',
  sampling: (round) => ({ temperature: 0.8, seed: round }),
  aim: 0.97,
};

export async function texts(): Promise<readonly Text[]> {
  return [await copiedCode(), freshProse];
}
