import { InvalidModelError, UnsupportedError } from '@hearth/core';
import type { CheckpointTensor } from '../checkpoint.ts';
import { TimeSlice } from '../io/time-slice.ts';
import type { GgufArchitecture, GgufContents, PlacedTensor } from './architecture.ts';
import { readNumLayers } from './decoder-config.ts';
import { tensorLimits } from './read-tensor-infos.ts';
import { ropeRowOrder } from './rope-rows.ts';
import { type HuggingFaceName, toHuggingFaceName } from './tensor-names.ts';

type Config = Readonly<Record<string, unknown>>;

/**
 * The tensors of a GGUF model under their Hugging Face names, with whatever the file keeps differently said of them.
 * @throws InvalidModelError | UnsupportedError that names the tensor
 */
export async function checkpointTensors(
  contents: GgufContents,
  architecture: GgufArchitecture,
  config: Config,
): Promise<Map<string, CheckpointTensor>> {
  const names = architecture.tensors;
  const tensors = new Map<string, CheckpointTensor>();
  const numLayers = readNumLayers(contents);
  // Layers share their row orders: the same rows and heads give the same order.
  const rowOrders = new Map<string, Uint32Array>();
  const slice = new TimeSlice();
  for (const stored of contents.tensors.values()) {
    if (slice.isSpent) await slice.next();
    if (names.ignoredStored?.test(stored.name)) continue;
    const mapped = toHuggingFaceName(names, stored.name);
    if (mapped === null) {
      throw new UnsupportedError(
        `${stored.file.path}: tensor "${stored.name}" is not one that a ${architecture.name} model is known to have.`,
        { details: { path: stored.file.path, tensor: stored.name } },
      );
    }
    if (mapped.layer !== null && mapped.layer >= numLayers) {
      invalid(stored, `belongs to layer ${mapped.layer}, but there are ${numLayers} layers`);
    }
    if (mapped.isExperts) {
      addExperts(tensors, stored, mapped, config.num_experts as number);
      continue;
    }
    const isTransposed =
      mapped.module !== null && names.transposedModules?.has(mapped.module) && stored.shape.length === 2;
    const rowOrder = orderOfRows(stored, mapped, architecture, config, rowOrders);
    const { dtype, file, offset, byteLength } = stored;
    tensors.set(mapped.name, {
      name: mapped.name,
      storedName: stored.name,
      dtype,
      shape: isTransposed ? [stored.shape[1]!, stored.shape[0]!] : stored.shape,
      file,
      offset,
      byteLength,
      ...(rowOrder && { rowOrder }),
      ...(isTransposed && { transposed: true }),
      ...(names.normPlus && isNorm(stored.name) && { plus: names.normPlus }),
    });
  }
  return tensors;
}

/** Whether a GGUF tensor is the weight of a norm. */
export function isNorm(storedName: string): boolean {
  return storedName.endsWith('norm.weight');
}

/** One stored tensor [experts, rows, columns] appears as a matrix for each expert. */
function addExperts(
  tensors: Map<string, CheckpointTensor>,
  stored: PlacedTensor,
  { name }: HuggingFaceName,
  numExperts: number,
): void {
  const [count, ...shape] = stored.shape;
  if (count !== numExperts || shape.length !== 2) {
    invalid(
      stored,
      `has the shape [${stored.shape.join(', ')}], expected [${numExperts}, rows, columns] for as many experts`,
    );
  }
  // The file may have as many of these as it likes; each of them turns into thousands of objects.
  if (tensors.size + numExperts > tensorLimits.tensors) {
    invalid(stored, `has ${numExperts} experts; with them the model has more than ${tensorLimits.tensors} tensors`);
  }
  const byteLength = stored.byteLength / numExperts;
  for (let expert = 0; expert < numExperts; expert++) {
    const expertName = name.replace('*', String(expert));
    tensors.set(expertName, {
      name: expertName,
      storedName: stored.name,
      dtype: stored.dtype,
      shape,
      file: stored.file,
      offset: stored.offset + expert * byteLength,
      byteLength,
    });
  }
}

function orderOfRows(
  stored: PlacedTensor,
  { module }: HuggingFaceName,
  { tensors: names }: GgufArchitecture,
  config: Config,
  known: Map<string, Uint32Array>,
): Uint32Array | undefined {
  const headsKey = module === null ? undefined : names.ropeModules?.get(module);
  if (headsKey === undefined) return undefined;
  const rows = stored.shape[0]!;
  const numHeads = config[headsKey] as number;
  const headDim = config.head_dim as number;
  if (rows !== numHeads * headDim) {
    invalid(stored, `has ${rows} rows, expected ${numHeads} heads of ${headDim} (${headsKey} and head_dim)`);
  }
  const key = `${rows}/${numHeads}`;
  const order = known.get(key) ?? ropeRowOrder(rows, numHeads, stored.name);
  known.set(key, order);
  return order;
}

function invalid(stored: PlacedTensor, problem: string): never {
  throw new InvalidModelError(`${stored.file.path}: tensor "${stored.name}" ${problem}.`, {
    details: { path: stored.file.path, tensor: stored.name, shape: stored.shape },
  });
}
