import { isUtf8 } from 'node:buffer';
import { throwIfAborted, UnsupportedError } from '@hearth/core';
import { TimeSlice } from '../io/time-slice.ts';
import { safetensorsDtypeBits } from './dtypes.ts';
import { HeaderScanner } from './header-scanner.ts';
import type { SafetensorsTensor } from './safetensors.ts';

/** More tensors than any model has; each costs some 300 bytes of memory. */
const maxTensors = 262_144;
/** More notes than any file has. */
const maxMetadataEntries = 65_536;
/** Bytes of a tensor's name or a note's key; they are quoted in messages. */
const maxNameLength = 4096;
/** PyTorch allows 64 dimensions. */
const maxDimensions = 64;

export interface ParsedHeader {
  readonly metadata: ReadonlyMap<string, string>;
  /** In the order of the header. */
  readonly tensors: SafetensorsTensor[];
}

/**
 * Parses the JSON header of a safetensors file and checks it against the bytes of the file: the tensors must cover the data
 * without gap or overlap, each with exactly the bytes that dtype and shape ask for.
 *
 * @param dataOffset where tensor data starts in the file
 * @param dataBytes how much of it there is
 */
export async function parseHeader(
  bytes: Uint8Array,
  path: string,
  dataOffset: number,
  dataBytes: number,
  signal: AbortSignal | undefined,
): Promise<ParsedHeader> {
  const scanner: HeaderScanner = new HeaderScanner(bytes, path);
  if (!isUtf8(bytes)) scanner.fail('the header is not UTF-8 text.');
  let metadata: ReadonlyMap<string, string> | undefined;
  const tensors = new Map<string, SafetensorsTensor>();
  const slice = new TimeSlice();
  scanner.expect('{', 'the header object');
  if (!scanner.takes('}')) {
    do {
      if ((tensors.size & 255) === 0 && slice.isSpent) {
        throwIfAborted(signal);
        await slice.next();
      }
      const name = scanner.string('a tensor name', maxNameLength);
      scanner.expect(':', `after the name "${name}"`);
      if (name === '__metadata__') {
        if (metadata) scanner.fail('"__metadata__" is there twice.');
        metadata = await parseMetadata(scanner, slice);
        continue;
      }
      if (name === '') scanner.fail('a tensor has an empty name.');
      if (tensors.has(name)) scanner.fail(`tensor "${name}" is there twice.`, { tensor: name });
      if (tensors.size === maxTensors) scanner.fail(`there are more than ${maxTensors} tensors.`);
      tensors.set(name, parseTensor(scanner, name, path, dataOffset, dataBytes));
    } while (scanner.takes(','));
    scanner.expect('}', 'the end of the header object');
  }
  scanner.expectEnd();
  const list = [...tensors.values()];
  checkCoverage(scanner, list, dataOffset, dataBytes);
  return { metadata: metadata ?? new Map(), tensors: list };
}

async function parseMetadata(scanner: HeaderScanner, slice: TimeSlice): Promise<Map<string, string>> {
  const metadata = new Map<string, string>();
  scanner.expect('{', '__metadata__');
  if (scanner.takes('}')) return metadata;
  do {
    if ((metadata.size & 255) === 0 && slice.isSpent) await slice.next();
    const key = scanner.string('a key of __metadata__', maxNameLength);
    scanner.expect(':', `after the key "${key}"`);
    if (metadata.has(key)) scanner.fail(`key "${key}" of __metadata__ is there twice.`, { key });
    if (metadata.size === maxMetadataEntries) scanner.fail(`__metadata__ has more than ${maxMetadataEntries} keys.`);
    metadata.set(key, scanner.string(`the value of "${key}" in __metadata__`));
  } while (scanner.takes(','));
  scanner.expect('}', 'the end of __metadata__');
  return metadata;
}

function parseTensor(
  scanner: HeaderScanner,
  name: string,
  path: string,
  dataOffset: number,
  dataBytes: number,
): SafetensorsTensor {
  const quoted = `tensor "${name}"`;
  let dtype: string | undefined;
  let shape: number[] | undefined;
  let offsets: number[] | undefined;
  scanner.expect('{', quoted);
  do {
    const field = scanner.string(`a field of ${quoted}`, maxNameLength);
    scanner.expect(':', `after "${field}" of ${quoted}`);
    if (field === 'dtype' && dtype === undefined) dtype = scanner.string(`the dtype of ${quoted}`, maxNameLength);
    else if (field === 'shape' && !shape) shape = parseNumbers(scanner, `the shape of ${quoted}`, maxDimensions);
    else if (field === 'data_offsets' && !offsets) {
      offsets = parseNumbers(scanner, `data_offsets of ${quoted}`, 2);
    } else {
      // A field that is not known could change what the bytes mean, so it is not skipped.
      scanner.fail(`${quoted} has a second or unknown field "${field}"; expected are dtype, shape, data_offsets.`, {
        tensor: name,
      });
    }
  } while (scanner.takes(','));
  scanner.expect('}', `the end of ${quoted}`);
  if (dtype === undefined || !shape || !offsets) {
    return scanner.fail(`${quoted} must have dtype, shape and data_offsets.`, { tensor: name });
  }
  const bits = safetensorsDtypeBits.get(dtype);
  if (bits === undefined) {
    throw new UnsupportedError(
      `${path}: ${quoted} has dtype "${dtype}", which this version of Hearth does not know, so its size cannot be checked.`,
      { details: { path, tensor: name, dtype } },
    );
  }
  const [begin, end] = offsets;
  if (begin === undefined || end === undefined || begin > end || end > dataBytes) {
    scanner.fail(
      `${quoted} has data_offsets [${offsets.join(', ')}], expected [begin, end] with begin ≤ end ≤ ${dataBytes}, the bytes of data in the file. The file is cut short or damaged.`,
      { tensor: name, dataBytes },
    );
  }
  const numBits = shape.reduce((product, dim) => product * BigInt(dim), 1n) * BigInt(bits);
  if (numBits !== BigInt(end - begin) * 8n) {
    scanner.fail(
      `${quoted} has dtype ${dtype} and shape [${shape.join(', ')}], which is ${numBits / 8n} bytes, but data_offsets [${begin}, ${end}] give it ${end - begin}.`,
      { tensor: name },
    );
  }
  return { name, dtype: dtype.toLowerCase(), shape, offset: dataOffset + begin, byteLength: end - begin };
}

function parseNumbers(scanner: HeaderScanner, where: string, maxLength: number): number[] {
  const numbers: number[] = [];
  scanner.expect('[', where);
  if (scanner.takes(']')) return numbers;
  do {
    if (numbers.length === maxLength) scanner.fail(`${where} has more than ${maxLength} entries.`);
    numbers.push(scanner.wholeNumber(where));
  } while (scanner.takes(','));
  scanner.expect(']', where);
  return numbers;
}

/** Tensors side by side must cover all of the data: the format allows neither gaps nor overlaps. */
function checkCoverage(
  scanner: HeaderScanner,
  tensors: readonly SafetensorsTensor[],
  dataOffset: number,
  dataBytes: number,
): void {
  // Tensors without elements sort before those that start where they end.
  const byOffset = [...tensors].sort((a, b) => a.offset - b.offset || a.byteLength - b.byteLength);
  let covered = dataOffset;
  for (const { name, offset, byteLength } of byOffset) {
    if (offset !== covered) {
      scanner.fail(
        `tensor "${name}" starts at byte ${offset - dataOffset} of the data, but the tensors before it end at ${covered - dataOffset}: tensors may neither overlap nor leave gaps.`,
        { tensor: name },
      );
    }
    covered += byteLength;
  }
  if (covered !== dataOffset + dataBytes) {
    scanner.fail(
      `the file has ${dataBytes} bytes of data, but its tensors take ${covered - dataOffset}: the file is damaged or has something appended.`,
    );
  }
}
