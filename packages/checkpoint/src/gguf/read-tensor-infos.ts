import { UnsupportedError } from '@hearth/core';
import type { GgufTensor } from './gguf.ts';
import type { HeaderReader } from './header-reader.ts';
import { type GgufTensorType, ggufTensorTypes } from './tensor-types.ts';

export const tensorLimits = {
  /** The largest mixtures of experts, unmerged, have some 50,000. */
  tensors: 262_144,
  nameBytes: 1024,
  dimensions: 4,
} as const;

/** The fewest bytes of one entry: name length, one character, number of dimensions, one dimension, type, offset. */
const minimumEntryBytes = 8 + 1 + 4 + 8 + 4 + 8;

interface TensorInfo {
  readonly name: string;
  readonly type: GgufTensorType;
  /** As in the file: the fastest dimension first. Each is above 0. */
  readonly dims: readonly bigint[];
  /** From the start of the tensor data. */
  readonly offset: bigint;
}

/** Reads the `numTensors` entries that follow the metadata. Nothing is known yet of where the data lies. */
export async function readTensorInfos(reader: HeaderReader, numTensors: number): Promise<TensorInfo[]> {
  if (numTensors > tensorLimits.tensors) {
    reader.fail(`it declares ${numTensors} tensors, more than ${tensorLimits.tensors} are not accepted.`);
  }
  if (numTensors * minimumEntryBytes > reader.bytesLeft) {
    reader.fail(`it declares ${numTensors} tensors, but only ${reader.bytesLeft} bytes are left for their entries.`);
  }
  const infos: TensorInfo[] = [];
  const names = new Set<string>();
  for (let i = 0; i < numTensors; i++) {
    if ((i & 255) === 0 && reader.slice.isSpent) await reader.slice.next();
    const info = await readTensorInfo(reader, i);
    if (names.has(info.name)) reader.fail(`tensor "${info.name}" is there twice.`, { tensor: info.name });
    names.add(info.name);
    infos.push(info);
  }
  return infos;
}

async function readTensorInfo(reader: HeaderReader, index: number): Promise<TensorInfo> {
  const what = `the entry of tensor ${index}`;
  await reader.need(8, what);
  const length = reader.count();
  if (length === null || length === 0 || length > tensorLimits.nameBytes) {
    reader.fail(
      `tensor ${index} has a name of ${reader.lastU64()} bytes, expected 1 to ${tensorLimits.nameBytes}. The file is damaged.`,
    );
  }
  await reader.need(length + 4, what);
  const name = reader.text(length);
  if (name === null)
    reader.fail(`tensor ${index} has a name that is not UTF-8: "${reader.lastText(length).slice(0, 100)}".`);
  const numDimensions = reader.u32();
  if (numDimensions < 1 || numDimensions > tensorLimits.dimensions) {
    reader.fail(`tensor "${name}" has ${numDimensions} dimensions, expected 1 to ${tensorLimits.dimensions}.`, {
      tensor: name,
    });
  }
  await reader.need(numDimensions * 8 + 12, `the entry of tensor "${name}"`);
  const dims = Array.from({ length: numDimensions }, () => reader.u64());
  if (dims.includes(0n)) {
    reader.fail(
      `tensor "${name}" has the dimensions ${dims.join(' x ')}; a dimension of 0 leaves it without elements.`,
      {
        tensor: name,
      },
    );
  }
  const typeId = reader.u32();
  const type = ggufTensorTypes.get(typeId);
  if (type === undefined) {
    throw new UnsupportedError(
      `${reader.file.path}: tensor "${name}" has type number ${typeId}, which this version of Hearth does not know, so its size is unknown.`,
      { details: { path: reader.file.path, tensor: name, type: typeId } },
    );
  }
  return { name, type, dims, offset: reader.u64() };
}

/**
 * Places the tensors in the file: sizes from types and dimensions, all of them aligned, within the file and apart.
 *
 * Sizes are bigints until they are known to fit: a product of dimensions may exceed 2^64, where a number would lose its low
 * bits and a machine integer would wrap.
 */
export function placeTensors(
  reader: HeaderReader,
  infos: readonly TensorInfo[],
  alignment: number,
  dataOffset: number,
): GgufTensor[] {
  const dataBytes = BigInt(Math.max(0, reader.file.size - dataOffset));
  const tensors = infos.map((info) => {
    const { name, type, dims, offset } = info;
    const shapeText = dims.join(' x ');
    const columns = dims[0]!;
    if (columns % BigInt(type.blockElements) !== 0n) {
      reader.fail(
        `tensor "${name}" of type ${type.name} has ${columns} columns, expected a multiple of ${type.blockElements}.`,
        { tensor: name },
      );
    }
    const numElements = dims.reduce((product, dim) => product * dim, 1n);
    const numBytes = (numElements / BigInt(type.blockElements)) * BigInt(type.blockBytes);
    if (offset % BigInt(alignment) !== 0n) {
      reader.fail(`tensor "${name}" starts at offset ${offset}, expected a multiple of ${alignment}.`, {
        tensor: name,
      });
    }
    if (offset + numBytes > dataBytes) {
      reader.fail(
        `tensor "${name}" (${type.name}, ${shapeText}) needs ${numBytes} bytes at offset ${offset} of the tensor data, but there are ${dataBytes} bytes of it. The file is cut short or damaged.`,
        { tensor: name, neededBytes: String(offset + numBytes), dataBytes: String(dataBytes) },
      );
    }
    return {
      name,
      dtype: type.name,
      shape: dims.map(Number).reverse(),
      offset: dataOffset + Number(offset),
      byteLength: Number(numBytes),
    };
  });
  checkTensorsAreApart(reader, tensors);
  return tensors;
}

function checkTensorsAreApart(reader: HeaderReader, tensors: readonly GgufTensor[]): void {
  const byOffset = [...tensors].sort((a, b) => a.offset - b.offset);
  for (let i = 1; i < byOffset.length; i++) {
    const before = byOffset[i - 1]!;
    const tensor = byOffset[i]!;
    if (before.offset + before.byteLength > tensor.offset) {
      reader.fail(
        `tensors "${before.name}" (bytes ${before.offset} to ${before.offset + before.byteLength}) and "${tensor.name}" (from byte ${tensor.offset}) overlap.`,
        { tensor: tensor.name },
      );
    }
  }
}
