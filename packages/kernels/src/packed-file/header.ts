import { InvalidArgumentError, InvalidModelError } from '@hearth/core';
import { packedHeaderBytes } from './layout.ts';
import { sha256 } from './sha256.ts';

/** Of the file as such; `packedLayoutVersion` is that of the tensors in it. */
export const packedFileFormat = 1;

const firstLine = 'hearth packed weights';

/**
 * What stands in the first page of a packed file: a line that says what it is, the SHA-256 of the next line, that line in JSON,
 * zeros. It says nothing about where weights lie: that follows from the weights that the loader wants.
 */
export interface PackedFileHeader {
  readonly format: number;
  /** Of `PackedFile`. */
  readonly key: string;
  readonly fileBytes: number;
  /** SHA-256 of the samples (sample.ts). */
  readonly sample: string;
  /** Path of the model, for people. */
  readonly source: string;
}

/** @throws InvalidArgumentError when it takes more than a page: a path of thousands of letters */
export function encodeHeader(header: PackedFileHeader): Uint8Array {
  const json = JSON.stringify(header);
  const text = Buffer.from(`${firstLine}\n${sha256(json)}\n${json}\n`);
  if (text.length > packedHeaderBytes) {
    throw new InvalidArgumentError(`A header of ${text.length} bytes is too long: the path of the model is.`);
  }
  const page = new Uint8Array(packedHeaderBytes);
  page.set(text);
  return page;
}

/** @throws InvalidModelError that says what is wrong with the page */
export function decodeHeader(page: Uint8Array): PackedFileHeader {
  const [first, checksum, json, ...rest] = Buffer.from(page).toString('utf8').split('\n');
  if (first !== firstLine) throw new InvalidModelError('it is no packed file');
  if (json === undefined || rest.length !== 1 || checksum !== sha256(json)) {
    throw new InvalidModelError('its header is damaged');
  }
  const { format, key, fileBytes, sample, source } = parseObject(json);
  const isNumber = (value: unknown): value is number => Number.isSafeInteger(value);
  const isText = (value: unknown): value is string => typeof value === 'string';
  if (isNumber(format) && isText(key) && isNumber(fileBytes) && isText(sample) && isText(source)) {
    return { format, key, fileBytes, sample, source };
  }
  throw new InvalidModelError('its header lacks a field, or one is of another type');
}

function parseObject(json: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(json));
  } catch (cause) {
    throw new InvalidModelError('its header is no JSON', { cause });
  }
}
