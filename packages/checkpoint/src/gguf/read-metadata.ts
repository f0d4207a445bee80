import type { GgufMetadata, GgufNumberArray, GgufScalarType, GgufValue, GgufValueType } from './gguf.ts';
import type { HeaderReader } from './header-reader.ts';
import { ggufValueTypes, isNumericType, minimumValueBytes, type NumericType, numberArrayTypes } from './value-types.ts';

/**
 * Bounds on what becomes JavaScript strings and arrays, whose memory is several times their bytes in the file. The largest
 * vocabularies (262,144 tokens, half a million merges) stay below a fifth of them.
 */
export const metadataLimits = {
  keys: 65_536,
  /** As in the GGUF specification. */
  keyBytes: 65_535,
  /** Strings, booleans and nested arrays inside arrays, all keys together. */
  arrayElements: 4_194_304,
  /** All strings together. */
  stringBytes: 64 * 2 ** 20,
  /** Arrays within arrays. No known key has more than two levels. */
  arrayDepth: 4,
} as const;

/** The fewest bytes of one key and its value: key length, one character, value type, value. */
const minimumEntryBytes = 8 + 1 + 4 + 1;

export interface ParsedMetadata {
  readonly metadata: GgufMetadata;
  readonly metadataTypes: ReadonlyMap<string, GgufValueType>;
  readonly warnings: string[];
}

/** Reads `numKeys` keys and values. Throws InvalidModelError with the key's name. */
export async function readMetadata(reader: HeaderReader, numKeys: number): Promise<ParsedMetadata> {
  if (numKeys > metadataLimits.keys) {
    reader.fail(`it declares ${numKeys} metadata keys, more than ${metadataLimits.keys} are not accepted.`);
  }
  if (numKeys * minimumEntryBytes > reader.bytesLeft) {
    reader.fail(`it declares ${numKeys} metadata keys, but only ${reader.bytesLeft} bytes are left for them.`);
  }
  const metadata = new Map<string, GgufValue>();
  const metadataTypes = new Map<string, GgufValueType>();
  const values = new ValueReader(reader);
  for (let i = 0; i < numKeys; i++) {
    const key = await readKey(reader, i);
    if (metadata.has(key)) reader.fail(`metadata key "${key}" is there twice.`, { key });
    const { type, value } = await values.read(key);
    metadata.set(key, value);
    metadataTypes.set(key, type);
  }
  return { metadata, metadataTypes, warnings: values.warnings };
}

async function readKey(reader: HeaderReader, index: number): Promise<string> {
  const what = `metadata key ${index}`;
  if (reader.available < 8) await reader.need(8, what);
  const length = reader.count();
  if (length === null || length > metadataLimits.keyBytes || length === 0) {
    reader.fail(
      `${what} has a name of ${reader.lastU64()} bytes, expected 1 to ${metadataLimits.keyBytes}. The file is damaged.`,
    );
  }
  if (reader.available < length) await reader.need(length, what);
  const key = reader.text(length);
  if (key === null) {
    reader.fail(`${what} has a name that is not UTF-8: "${reader.lastText(length).slice(0, 100)}".`);
  }
  return key;
}

/** Reads values, counting what they take against the limits. */
class ValueReader {
  readonly warnings: string[] = [];
  readonly #reader: HeaderReader;
  #arrayElements = 0;
  #stringBytes = 0;

  constructor(reader: HeaderReader) {
    this.#reader = reader;
  }

  async read(key: string): Promise<{ type: GgufValueType; value: GgufValue }> {
    const type = await this.#readType(key);
    if (type === 'array') return this.#readArray(key, 1);
    if (type === 'string') {
      const damaged = { strings: 0 };
      const value = await this.#readString(key, damaged);
      this.#warnAboutText(key, damaged.strings);
      return { type, value };
    }
    const numBytes = minimumValueBytes[type];
    if (this.#reader.available < numBytes) await this.#reader.need(numBytes, `the value of metadata key "${key}"`);
    return { type, value: this.#readScalar(key, type) };
  }

  async #readType(key: string): Promise<GgufScalarType | 'array'> {
    const reader: HeaderReader = this.#reader;
    if (reader.available < 4) await reader.need(4, `the type of metadata key "${key}"`);
    const id = reader.u32();
    return ggufValueTypes[id] ?? reader.fail(`metadata key "${key}" has value type ${id}, known are 0 to 12.`, { key });
  }

  #readScalar(key: string, type: NumericType | 'bool'): number | bigint | boolean {
    const reader: HeaderReader = this.#reader;
    if (type === 'bool') {
      const byte = reader.u8();
      if (byte > 1) reader.fail(`metadata key "${key}" is a boolean, but holds ${byte} instead of 0 or 1.`, { key });
      return byte === 1;
    }
    const value = reader[type]();
    // 64-bit integers that a number holds exactly become numbers, so that callers meet bigints only where they matter.
    return typeof value === 'bigint' && isSafe(value) ? Number(value) : value;
  }

  async #readString(key: string, damaged: { strings: number }): Promise<string> {
    const reader: HeaderReader = this.#reader;
    if (reader.available < 8) await reader.need(8, `a string of metadata key "${key}"`);
    const length = reader.count();
    if (length === null || length > reader.bytesLeft) {
      reader.fail(
        `metadata key "${key}" has a string of ${reader.lastU64()} bytes, but only ${reader.bytesLeft} bytes are left in the file.`,
        { key },
      );
    }
    if (reader.available < length) await reader.need(length, `a string of metadata key "${key}"`);
    return this.#takeText(key, length, damaged);
  }

  /** Text that is in the window. */
  #takeText(key: string, length: number, damaged: { strings: number }): string {
    const reader: HeaderReader = this.#reader;
    this.#stringBytes += length;
    if (this.#stringBytes > metadataLimits.stringBytes) {
      reader.fail(`the metadata has more than ${metadataLimits.stringBytes} bytes of text (at key "${key}").`, { key });
    }
    const text = reader.text(length);
    if (text !== null) return text;
    damaged.strings++;
    return reader.lastText(length);
  }

  async #readArray(key: string, depth: number): Promise<{ type: GgufValueType; value: GgufValue }> {
    const reader: HeaderReader = this.#reader;
    if (depth > metadataLimits.arrayDepth) {
      reader.fail(`metadata key "${key}" nests arrays more than ${metadataLimits.arrayDepth} deep.`, { key });
    }
    const elementType = await this.#readType(key);
    if (reader.available < 8) await reader.need(8, `the array length of metadata key "${key}"`);
    const length = reader.count();
    if (length === null || length * minimumValueBytes[elementType] > reader.bytesLeft) {
      reader.fail(
        `metadata key "${key}" is an array of ${reader.lastU64()} elements of type ${elementType}, but only ${reader.bytesLeft} bytes are left in the file.`,
        { key },
      );
    }
    if (isNumericType(elementType)) {
      return { type: `array<${elementType}>`, value: await this.#readNumbers(key, elementType, length) };
    }
    this.#arrayElements += length;
    if (this.#arrayElements > metadataLimits.arrayElements) {
      reader.fail(
        `the arrays of the metadata have more than ${metadataLimits.arrayElements} elements (at key "${key}").`,
        { key },
      );
    }
    if (elementType === 'string') return { type: 'array<string>', value: await this.#readStrings(key, length) };
    if (elementType === 'bool') {
      const flags: boolean[] = [];
      if (reader.available < length) await reader.need(length, `metadata key "${key}"`);
      for (let i = 0; i < length; i++) flags.push(this.#readScalar(key, 'bool') as boolean);
      return { type: 'array<bool>', value: flags };
    }
    const arrays: GgufValue[] = [];
    let innerType: GgufValueType | undefined;
    for (let i = 0; i < length; i++) {
      const inner = await this.#readArray(key, depth + 1);
      innerType ??= inner.type;
      if (inner.type !== innerType) {
        reader.fail(`metadata key "${key}" mixes ${innerType} and ${inner.type} in one array.`, { key });
      }
      arrays.push(inner.value);
    }
    // Nothing says what an empty array of arrays would hold; u8 stands for it.
    return { type: `array<${innerType ?? 'array<u8>'}>`, value: arrays };
  }

  async #readStrings(key: string, length: number): Promise<string[]> {
    const strings: string[] = [];
    const damaged = { strings: 0 };
    const reader: HeaderReader = this.#reader;
    for (let i = 0; i < length; i++) {
      // Every 1024 strings are well below a millisecond; a clock reading for each of them would double the time.
      if ((i & 1023) === 0 && reader.slice.isSpent) await reader.slice.next();
      // Most strings are in the window already; an await for each would take longer than reading it.
      strings.push(
        reader.hasStringAvailable
          ? this.#takeText(key, reader.count()!, damaged)
          : await this.#readString(key, damaged),
      );
    }
    this.#warnAboutText(key, damaged.strings);
    return strings;
  }

  async #readNumbers(key: string, type: NumericType, length: number): Promise<GgufNumberArray> {
    const reader: HeaderReader = this.#reader;
    const bytes = new Uint8Array(length * minimumValueBytes[type]);
    for (let filled = 0; filled < bytes.length; ) {
      const numBytes = Math.min(bytes.length - filled, Math.max(reader.available, 2 ** 16));
      await reader.need(numBytes, `the array of metadata key "${key}"`);
      bytes.set(reader.bytes(numBytes), filled);
      filled += numBytes;
    }
    return new numberArrayTypes[type](bytes.buffer);
  }

  #warnAboutText(key: string, numStrings: number): void {
    if (numStrings === 0) return;
    this.warnings.push(
      `Metadata key "${key}" holds ${numStrings === 1 ? 'a string that is' : `${numStrings} strings that are`} not UTF-8; unreadable bytes were replaced by U+FFFD.`,
    );
  }
}

function isSafe(value: bigint): boolean {
  return value <= BigInt(Number.MAX_SAFE_INTEGER) && value >= BigInt(Number.MIN_SAFE_INTEGER);
}
