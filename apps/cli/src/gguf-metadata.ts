import { type Checkpoint, type GgufMetadataToWrite, type GgufTypedValue, isEmbeddingTable } from '@hearth/checkpoint';
import { ggufTokenizer } from '@hearth/tokenizer';

/**
 * Tokenizer and chat templates of a Hugging Face directory as a GGUF file keeps them; undefined for a checkpoint without
 * tokenizer.json, such as a GGUF file, whose own metadata are kept anyway.
 * @throws UnsupportedError for a tokenizer that GGUF has no way to say
 */
export function ggufMetadata({
  tokenizer,
  tensors,
  generationConfig,
  chatTemplate,
}: Checkpoint): GgufMetadataToWrite | undefined {
  if (tokenizer?.kind !== 'tokenizer-json') return undefined;
  const table = [...tensors.values()].find(({ name }) => isEmbeddingTable(name));
  const eosTokenIds = [generationConfig?.eos_token_id ?? []].flat().filter((id) => typeof id === 'number');
  return new Map<string, GgufTypedValue | string | boolean>([
    ...ggufTokenizer({ ...tokenizer, eosTokenIds }, { vocabSize: table?.shape[0] ?? 0 }),
    ...templateEntries(chatTemplate.jinjaFile ?? chatTemplate.tokenizerConfig),
  ]);
}

/** @param template a text, or a list of { name, template } as tokenizer_config.json may have it */
function templateEntries(template: unknown): [string, string][] {
  if (typeof template === 'string') return [['tokenizer.chat_template', template]];
  if (!Array.isArray(template)) return [];
  return template.flatMap((entry: { name?: unknown; template?: unknown } | null): [string, string][] => {
    if (typeof entry?.name !== 'string' || typeof entry.template !== 'string') return [];
    const suffix = entry.name === 'default' ? '' : `.${entry.name}`;
    return [[`tokenizer.chat_template${suffix}`, entry.template]];
  });
}
