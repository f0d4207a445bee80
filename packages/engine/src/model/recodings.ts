import {
  plannedDtypes,
  type QuantizePlan,
  recodedSource,
  requireStorageDtype,
  type StorageDtype,
  typescriptQuantizer,
} from '@hearth/checkpoint';
import { type Backend, InvalidArgumentError, type WeightSource } from '@hearth/core';

/** By name, the type that a weight is put into when it is loaded; weights that stay as they are stored are not named. */
export type Recodings = ReadonlyMap<string, StorageDtype>;

/**
 * What a plan changes of the weights as they are stored.
 * @throws InvalidArgumentError for a plan that makes no sense, or a rule that fits no weight
 */
export function planRecodings(
  sources: ReadonlyMap<string, WeightSource>,
  quantize: StorageDtype | QuantizePlan | undefined,
): Recodings {
  if (quantize === undefined) return new Map();
  const plan = typeof quantize === 'string' ? { dtype: quantize } : quantize;
  const { dtype, embeddingDtype = dtype, rules = [] } = plan;
  for (const named of [dtype, embeddingDtype, ...rules.map((rule) => rule.dtype)]) checkDtype(named);
  const planned = plannedDtypes(sources.values(), plan);
  return new Map([...planned].filter(([name, wanted]) => sources.get(name)!.dtype !== wanted));
}

/** The sources as a backend shall pack them. They are quantized by the backend's own quantizer where it has one. */
export function recodedSources(
  sources: ReadonlyMap<string, WeightSource>,
  recodings: Recodings,
  backend: Backend,
  signal: AbortSignal,
): ReadonlyMap<string, WeightSource> {
  const options = { quantizer: backend.quantizer ?? typescriptQuantizer, signal };
  const recoded = (source: WeightSource) => {
    const dtype = recodings.get(source.name);
    return dtype ? recodedSource(source, dtype, options) : source;
  };
  return new Map([...sources].map(([name, source]) => [name, recoded(source)]));
}

function checkDtype(dtype: unknown): void {
  if (typeof dtype === 'string') requireStorageDtype(dtype);
  else throw new InvalidArgumentError(`quantize must name types, got ${String(dtype)}.`);
}
