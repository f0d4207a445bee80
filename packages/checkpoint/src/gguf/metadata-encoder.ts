import { Buffer } from 'node:buffer';
import { InvalidArgumentError } from '@hearth/core';
import type { GgufHeader, GgufNumberArray, GgufScalarType, GgufValue, GgufValueType } from './gguf.ts';
import { ggufValueTypes, isNumericType, minimumValueBytes, type NumericType, numberArrayTypes } from './value-types.ts';

/** A metadata value with the type that it is stored as. */
export interface GgufTypedValue {
  readonly type: GgufValueType;
  readonly value: GgufValue;
}

/** Metadata for a writer. Strings and booleans need no type. */
export type GgufMetadataToWrite = ReadonlyMap<string, GgufTypedValue | string | boolean>;

/** The metadata of a file that was read, ready to be written into another: the keys that start with `prefix`. */
export function metadataOf(
  header: Pick<GgufHeader, 'metadata' | 'metadataTypes'>,
  prefix = '',
): Map<string, GgufTypedValue> {
  const typed = new Map<string, GgufTypedValue>();
  for (const [key, value] of header.metadata) {
    if (key.startsWith(prefix)) typed.set(key, { type: header.metadataTypes.get(key)!, value });
  }
  return typed;
}

/** Collects the little-endian bytes of a GGUF header. */
export class HeaderEncoder {
  #bytes = Buffer.alloc(2 ** 16);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  finish(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  u32(value: number): void {
    const at = this.#grow(4);
    this.#bytes.writeUInt32LE(value, at);
  }

  u64(value: number): void {
    const at = this.#grow(8);
    this.#bytes.writeBigUInt64LE(BigInt(value), at);
  }

  raw(bytes: Uint8Array): void {
    const at = this.#grow(bytes.length);
    this.#bytes.set(bytes, at);
  }

  string(text: string): void {
    const numBytes = Buffer.byteLength(text, 'utf8');
    this.u64(numBytes);
    const at = this.#grow(numBytes);
    this.#bytes.write(text, at, 'utf8');
  }

  /** A key, its type and its value. */
  entry(key: string, typed: GgufTypedValue | string | boolean): void {
    this.string(key);
    const { type, value } =
      typeof typed === 'string'
        ? { type: 'string' as const, value: typed }
        : typeof typed === 'boolean'
          ? { type: 'bool' as const, value: typed }
          : typed;
    const elementType = elementTypeOf(type);
    this.u32(typeId(elementType === undefined ? type : 'array', key));
    this.#value(key, type, value);
  }

  #value(key: string, type: GgufValueType, value: GgufValue): void {
    const elementType = elementTypeOf(type);
    if (elementType !== undefined) {
      this.#array(key, elementType, value);
    } else if (type === 'string') {
      if (typeof value !== 'string') wrongValue(key, type, value);
      this.string(value as string);
    } else if (type === 'bool') {
      if (typeof value !== 'boolean') wrongValue(key, type, value);
      this.raw(Uint8Array.of(value ? 1 : 0));
    } else {
      this.#number(key, type, value);
    }
  }

  #array(key: string, elementType: GgufValueType, value: GgufValue): void {
    const isList = Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));
    if (!isList) wrongValue(key, `array<${elementType}>`, value);
    const elements = value as ArrayLike<GgufValue>;
    // A typed array of the very type already has the bytes of the file.
    if (isNumericType(elementType as GgufScalarType)) {
      const numbers = value as GgufNumberArray;
      if (numbers instanceof numberArrayTypes[elementType as NumericType]) {
        this.u32(typeId(elementType, key));
        this.u64(numbers.length);
        this.raw(new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength));
        return;
      }
    }
    this.u32(typeId(elementTypeOf(elementType) === undefined ? elementType : 'array', key));
    this.u64(elements.length);
    for (let i = 0; i < elements.length; i++) this.#value(key, elementType, elements[i]!);
  }

  #number(key: string, type: GgufValueType, value: GgufValue): void {
    if (!isNumericType(type as GgufScalarType)) wrongValue(key, type, value);
    const numericType = type as NumericType;
    const at = this.#grow(minimumValueBytes[numericType]);
    const view = new DataView(this.#bytes.buffer, this.#bytes.byteOffset + at);
    if (numericType === 'f32' || numericType === 'f64') {
      if (typeof value !== 'number') wrongValue(key, type, value);
      if (numericType === 'f32') view.setFloat32(0, value as number, true);
      else view.setFloat64(0, value as number, true);
      return;
    }
    const isWhole = typeof value === 'bigint' || Number.isInteger(value);
    const bits = BigInt(8 * minimumValueBytes[numericType]);
    const smallest = numericType.startsWith('i') ? -(1n << (bits - 1n)) : 0n;
    const largest = smallest + (1n << bits) - 1n;
    if (!isWhole) wrongValue(key, type, value);
    const whole = BigInt(value as number | bigint);
    if (whole < smallest || whole > largest) wrongValue(key, type, value);
    for (let i = 0n; i < bits; i += 8n) view.setUint8(Number(i / 8n), Number((whole >> i) & 255n));
  }

  /** Makes room for `numBytes` and gives the place where they go. It may replace the buffer, so it is called before the buffer is used. */
  #grow(numBytes: number): number {
    const at = this.#length;
    this.#length += numBytes;
    if (this.#length > this.#bytes.length) {
      const larger = Buffer.alloc(Math.max(this.#length, 2 * this.#bytes.length));
      this.#bytes.copy(larger);
      this.#bytes = larger;
    }
    return at;
  }
}

function elementTypeOf(type: GgufValueType): GgufValueType | undefined {
  return /^array<(.+)>$/.exec(type)?.[1] as GgufValueType | undefined;
}

function typeId(type: GgufValueType | 'array', key: string): number {
  const id = ggufValueTypes.indexOf(type as (typeof ggufValueTypes)[number]);
  if (id < 0) throw new InvalidArgumentError(`Metadata key "${key}" has the type "${type}", which GGUF does not have.`);
  return id;
}

function wrongValue(key: string, type: string, value: GgufValue): never {
  throw new InvalidArgumentError(
    `Metadata key "${key}" has type ${type}, which cannot hold ${String(value).slice(0, 60)}.`,
    { details: { key, type } },
  );
}
