import { basename } from 'node:path';
import { type FileMapper, InvalidModelError, type MappedFile, UnsupportedError } from '@hearth/core';
import type { ChatTemplateSources, Checkpoint, CheckpointTensor } from './checkpoint.ts';
import { findArchitecture, type GgufArchitecture, toHuggingFaceName } from './gguf/architectures.ts';
import type { GgufHeader } from './gguf/gguf.ts';
import { llamaConfig } from './gguf/llama-config.ts';
import { readGguf } from './gguf/read-gguf.ts';
import { ropeRowOrder } from './gguf/rope-rows.ts';

/** Opens a GGUF file as a checkpoint: Hugging Face names and config made from its own. */
export async function openGgufCheckpoint(
  path: string,
  fileMapper: FileMapper,
  signal: AbortSignal | undefined,
): Promise<Checkpoint> {
  const file = await fileMapper.open(path);
  try {
    const header = await readGguf(file, signal ? { signal } : {});
    refuseSplitFile(header, path);
    const architecture = readArchitecture(header, path);
    const { config, warnings } = await llamaConfig(header, file);
    const generalName = header.metadata.get('general.name');
    return {
      format: 'gguf',
      path,
      name: typeof generalName === 'string' && generalName !== '' ? generalName : basename(path, '.gguf'),
      config,
      tensors: mapTensors(header, file, architecture, config),
      tokenizer: { kind: 'gguf', metadata: header.metadata },
      chatTemplate: readChatTemplates(header),
      warnings: [...header.warnings, ...warnings],
      sizeBytes: file.size,
      headerHash: header.headerHash,
      close: () => file.close(),
    };
  } catch (error) {
    await file.close();
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

function refuseSplitFile(header: GgufHeader, path: string): void {
  const count = header.metadata.get('split.count');
  if (typeof count === 'number' && count > 1) {
    throw new UnsupportedError(
      `${path} is one of ${count} parts of a split GGUF file. Merge them into one file first.`,
      {
        details: { path, parts: count },
      },
    );
  }
}

function mapTensors(
  header: GgufHeader,
  file: MappedFile,
  architecture: GgufArchitecture,
  config: Record<string, unknown>,
): Map<string, CheckpointTensor> {
  const tensors = new Map<string, CheckpointTensor>();
  const numLayers = config.num_hidden_layers as number;
  // Layers share their row orders: the same rows and heads give the same order.
  const rowOrders = new Map<string, Uint32Array>();
  for (const stored of header.tensors) {
    if (architecture.ignoredTensors.test(stored.name)) continue;
    const mapped = toHuggingFaceName(architecture, stored.name);
    if (mapped === null) {
      throw new UnsupportedError(
        `${file.path}: tensor "${stored.name}" is not one that a ${architecture.name} model is known to have.`,
        { details: { path: file.path, tensor: stored.name } },
      );
    }
    if (mapped.layer !== null && mapped.layer >= numLayers) {
      throw new InvalidModelError(
        `${file.path}: tensor "${stored.name}" belongs to layer ${mapped.layer}, but there are ${numLayers} layers.`,
        { details: { path: file.path, tensor: stored.name } },
      );
    }
    const headsKey = mapped.module === null ? undefined : architecture.ropeModules.get(mapped.module);
    let rowOrder: Uint32Array | undefined;
    if (headsKey !== undefined) {
      const rows = stored.shape[0]!;
      const numHeads = config[headsKey] as number;
      const headDim = config.head_dim as number;
      if (rows !== numHeads * headDim) {
        throw new InvalidModelError(
          `${file.path}: tensor "${stored.name}" has ${rows} rows, expected ${numHeads} heads of ${headDim} (${headsKey} and head_dim).`,
          { details: { path: file.path, tensor: stored.name, rows, numHeads, headDim } },
        );
      }
      const orderKey = `${rows}/${numHeads}`;
      rowOrder = rowOrders.get(orderKey) ?? ropeRowOrder(rows, numHeads, stored.name);
      rowOrders.set(orderKey, rowOrder);
    }
    tensors.set(mapped.name, {
      name: mapped.name,
      storedName: stored.name,
      dtype: stored.dtype,
      shape: stored.shape,
      file,
      offset: stored.offset,
      byteLength: stored.byteLength,
      ...(rowOrder && { rowOrder }),
    });
  }
  return tensors;
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
