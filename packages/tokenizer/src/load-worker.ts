import { serve, withTransfer } from '@hearth/bounded-worker';
import { compile } from './compile/compile.ts';
import { TextPipeline } from './encode/text-pipeline.ts';
import { parseJson } from './read/parse-json.ts';
import { readGguf } from './read/read-gguf.ts';
import { readTokenizerJson } from './read/read-tokenizer-json.ts';
import type { TokenizerDefinition } from './tokenizer-definition.ts';
import type { JsonFile } from './tokenizer-source.ts';

/** A `TokenizerSource` as it is sent to the worker. */
export type LoadInput =
  | {
      kind: 'tokenizer-json';
      json: string | Uint8Array<ArrayBuffer>;
      config: JsonFile | undefined;
      eosTokenIds: readonly number[];
    }
  | { kind: 'gguf'; metadata: ReadonlyMap<string, unknown> };

export type LoadMethods = { load(input: LoadInput): ReturnType<typeof load> };

function load(input: LoadInput) {
  const definition = readDefinition(input);
  // Patterns that cannot be compiled are found now and not at the first prompt.
  new TextPipeline(definition.normalizer, definition.preTokenizer);
  const compiled = compile(definition);
  const { decoder, encoder } = compiled;
  return withTransfer(compiled, [
    decoder.tokenBytes.bytes.buffer,
    decoder.tokenBytes.offsets.buffer,
    decoder.flags.buffer,
    encoder.symbols.buffer,
    encoder.merges.buffer,
  ]);
}

function readDefinition(input: LoadInput): TokenizerDefinition {
  if (input.kind === 'gguf') return readGguf(input.metadata);
  const { config } = input;
  const isFile = typeof config === 'string' || config instanceof Uint8Array;
  const definition = readTokenizerJson(
    parseJson(input.json, 'tokenizer.json'),
    isFile ? parseJson(config, 'tokenizer_config.json') : config,
  );
  return { ...definition, eosTokenIds: [...new Set([...definition.eosTokenIds, ...input.eosTokenIds])] };
}

// A thread of its own: parsing a large tokenizer.json leaves hundreds of megabytes of garbage, which go with the thread.
serve<undefined, LoadMethods>(() => ({ load }));
