import { type FileMapper, InvalidModelError } from '@hearth/core';
import type { ChatTemplateSources, Checkpoint } from './checkpoint.ts';
import type { GgufArchitecture, PlacedTensor } from './gguf/architecture.ts';
import { findArchitecture } from './gguf/architectures.ts';
import { checkpointTensors } from './gguf/checkpoint-tensors.ts';
import type { GgufHeader } from './gguf/gguf.ts';
import { MetadataFields } from './gguf/metadata-fields.ts';
import { openParts } from './gguf/split-files.ts';
import { closeAll } from './io/close-all.ts';

/** Keys that say how the file came about, not what it computes. */
const descriptiveKeys = ['rope.scaling.finetuned', 'tensor_data_layout'];

/** Opens a GGUF file, or all files of a split one, as a checkpoint: Hugging Face names and config made from its own. */
export async function openGgufCheckpoint(
  path: string,
  fileMapper: FileMapper,
  signal: AbortSignal | undefined,
): Promise<Checkpoint> {
  const { parts, baseName, headerHash } = await openParts(path, fileMapper, signal);
  const files = parts.map(({ file }) => file);
  try {
    const header = parts[0].header;
    const architecture = readArchitecture(header, path);
    const tensors = new Map<string, PlacedTensor>();
    for (const part of parts) {
      for (const tensor of part.header.tensors) tensors.set(tensor.name, { ...tensor, file: part.file });
    }
    const fields = new MetadataFields(path, header, architecture.name);
    const contents = { path, fields, tensors };
    const config = await architecture.readConfig(contents);
    const generalName = header.metadata.get('general.name');
    return {
      format: 'gguf',
      path,
      name: typeof generalName === 'string' && generalName !== '' ? generalName : baseName,
      config,
      tensors: await checkpointTensors(contents, architecture, config),
      tokenizer: { kind: 'gguf', metadata: header.metadata, metadataTypes: header.metadataTypes },
      chatTemplate: readChatTemplates(header),
      warnings: [...parts.flatMap((part) => part.header.warnings), ...readWarnings(fields, config.vocab_size)],
      files,
      sizeBytes: files.reduce((sum, file) => sum + file.size, 0),
      headerHash,
      close: () => closeAll(files),
    };
  } catch (error) {
    await closeAll(files);
    throw error;
  }
}

function readArchitecture(header: GgufHeader, path: string): GgufArchitecture {
  const name = header.metadata.get('general.architecture');
  if (typeof name !== 'string') {
    throw new InvalidModelError(`${path}: metadata key "general.architecture" is missing or not a string.`, {
      details: { path, key: 'general.architecture' },
    });
  }
  return findArchitecture(name, path);
}

/** Called last: keys that nobody asked for until then are not known. */
function readWarnings(fields: MetadataFields, embeddingRows: unknown): string[] {
  const warnings: string[] = [];
  const declared = fields.raw(fields.key('vocab_size'));
  if (declared !== undefined && declared !== embeddingRows) {
    warnings.push(
      `Metadata key "${fields.key('vocab_size')}" says ${String(declared).slice(0, 30)}, but the embedding table has ${embeddingRows} rows; the rows count.`,
    );
  }
  for (const name of descriptiveKeys) fields.raw(fields.key(name));
  const unused = fields.unusedKeys();
  if (unused.length > 0) {
    warnings.push(`Metadata keys that are not known were not used: ${unused.slice(0, 10).join(', ').slice(0, 500)}.`);
  }
  return warnings;
}

function readChatTemplates(header: GgufHeader): ChatTemplateSources {
  const key = 'tokenizer.chat_template';
  const template = header.metadata.get(key);
  const named: [string, string][] = [];
  for (const [name, value] of header.metadata) {
    if (name.startsWith(`${key}.`) && typeof value === 'string') named.push([name.slice(key.length + 1), value]);
  }
  return {
    ...(typeof template === 'string' && { ggufTemplate: template }),
    ...(named.length > 0 && { ggufNamedTemplates: Object.fromEntries(named) }),
  };
}
