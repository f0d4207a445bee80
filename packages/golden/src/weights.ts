import { createHash } from 'node:crypto';
import { type Checkpoint, type CheckpointTensor, encodeElements, readTensor, weightSource } from '@hearth/checkpoint';
import { checkFileRange, type MappedFile, type WeightSource, type WeightSpec } from '@hearth/core';

/** As which type the weights are run: decoded to f32, rounded to bf16 from there, or as they are in the file. */
export type WeightsForm = 'float32' | 'bfloat16' | 'stored';

/**
 * The weights of a checkpoint for `Backend.loadWeights`, as `specs` ask for them. Those that are decoded are decoded when the
 * backend reads them, one at a time, so that no second copy of the model is in memory.
 *
 * @param onDecoded receives the SHA-256 of each decoded weight, as f32 in Hugging Face order
 */
export function weightSources(
  checkpoint: Checkpoint,
  specs: readonly WeightSpec[],
  form: WeightsForm,
  onDecoded: (name: string, sha256: string) => void = () => {},
): ReadonlyMap<string, WeightSource> {
  return new Map(
    specs.map((spec) => {
      const { name } = spec;
      const tensor = checkpoint.tensors.get(name)!;
      if (form === 'stored') return [name, weightSource(tensor, spec)];
      const file = new DecodedTensorFile(tensor, form, onDecoded);
      const dtype = form === 'float32' ? 'f32' : 'bf16';
      const { storedName, shape } = tensor;
      return [name, weightSource({ name, storedName, dtype, shape, file, offset: 0, byteLength: file.size }, spec)];
    }),
  );
}

/** A tensor, decoded, behind the interface of a file. It holds its bytes from the first read until all were read. */
class DecodedTensorFile implements MappedFile {
  readonly path: string;
  readonly size: number;
  readonly #tensor: CheckpointTensor;
  readonly #form: 'float32' | 'bfloat16';
  readonly #onDecoded: (name: string, sha256: string) => void;
  #bytes: Promise<Uint8Array> | undefined;
  #numUnread: number;

  constructor(
    tensor: CheckpointTensor,
    form: 'float32' | 'bfloat16',
    onDecoded: (name: string, sha256: string) => void,
  ) {
    this.#tensor = tensor;
    this.#form = form;
    this.#onDecoded = onDecoded;
    this.path = `${tensor.file.path} (${tensor.name} as ${form})`;
    const numElements = tensor.shape.reduce((product, size) => product * size, 1);
    this.size = numElements * (form === 'float32' ? 4 : 2);
    this.#numUnread = this.size;
  }

  async read(offset: number, length: number): Promise<Uint8Array> {
    checkFileRange(this, offset, length);
    this.#bytes ??= this.#decode();
    const part = (await this.#bytes).slice(offset, offset + length);
    this.#numUnread -= length;
    if (this.#numUnread <= 0) await this.close();
    return part;
  }

  async close(): Promise<void> {
    this.#bytes = undefined;
    this.#numUnread = this.size;
  }

  async #decode(): Promise<Uint8Array> {
    const values = await readTensor(this.#tensor);
    const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
    this.#onDecoded(this.#tensor.name, createHash('sha256').update(bytes).digest('hex'));
    return this.#form === 'float32' ? bytes : encodeElements('bf16', values);
  }
}
