import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { InvalidModelError } from '@hearth/core';

/** A prompt of a real model and the tokens that Transformers continues it with. */
export interface RealPrompt {
  readonly name: string;
  readonly kind: 'raw' | 'chat';
  /** What is tokenized: the raw text, or the rendered chat. */
  readonly text: string;
  /** Of a chat. */
  readonly messages?: readonly { readonly role: 'system' | 'user' | 'assistant'; readonly content: string }[];
  /** With the start token, where the file says that one is added. */
  readonly promptIds: readonly number[];
  /** Greedy tokens with the file's weights in float32, the end token included. */
  readonly ids: readonly number[];
  readonly smallestGap: number;
}

/** Greedy runs of a model that can be pulled by name; made by tools/golden/real.py. */
export interface RealGoldens {
  /** In the catalogue of @hearth/hub. */
  readonly name: string;
  readonly sizeBytes: number;
  readonly sha256: string;
  readonly maxTokens: number;
  readonly eosIds: readonly number[];
  readonly prompts: readonly RealPrompt[];
}

/** The real models that this package has runs of, smallest first. */
export async function realGoldens(): Promise<RealGoldens[]> {
  const directory = new URL('../fixtures/real/greedy/', import.meta.url);
  const names = (await readdir(directory)).filter((name) => name.endsWith('.json'));
  const all = await Promise.all(
    names.map(async (name) => {
      const file = new URL(name, directory);
      return parseRealGoldens(await readFile(file, 'utf8'), fileURLToPath(file));
    }),
  );
  return all.sort((a, b) => a.sizeBytes - b.sizeBytes);
}

/** @throws InvalidModelError when the text is no such manifest, or one of another format version */
export function parseRealGoldens(text: string, path: string): RealGoldens {
  try {
    return convert(JSON.parse(text));
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new InvalidModelError(`${path} is no manifest of a real model that this version reads: ${why}`, {
      cause,
      details: { path },
    });
  }
}

/** The file as it is. A missing part makes a TypeError, which `parseRealGoldens` wraps. */
// biome-ignore lint/suspicious/noExplicitAny: the shape is that of tools/golden/real.py; a wrong one fails on access
function convert(json: any): RealGoldens {
  if (json.format !== 'hearth-real' || json.format_version !== 1) {
    throw new Error(`expected format "hearth-real" 1, got ${JSON.stringify(json.format)} ${json.format_version}.`);
  }
  const { model, greedy } = json;
  return {
    name: model.name,
    sizeBytes: model.file.bytes,
    sha256: model.file.sha256,
    maxTokens: greedy.max_tokens,
    eosIds: [...greedy.eos_ids],
    // biome-ignore lint/suspicious/noExplicitAny: as above
    prompts: greedy.prompts.map((prompt: any) => ({
      name: prompt.name,
      kind: prompt.kind,
      text: prompt.text,
      ...(prompt.messages && { messages: prompt.messages }),
      promptIds: [...prompt.prompt_ids],
      ids: [...prompt.runs.float32.ids],
      smallestGap: prompt.runs.float32.smallest_gap,
    })),
  };
}
