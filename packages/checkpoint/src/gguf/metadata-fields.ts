import { InvalidModelError, UnsupportedError } from '@hearth/core';
import type { GgufHeader, GgufValue } from './gguf.ts';

type Header = Pick<GgufHeader, 'metadata' | 'metadataTypes'>;

/** Reads typed values out of GGUF metadata; every error names the file and the key. */
export class MetadataFields {
  readonly #path: string;
  readonly #header: Header;
  readonly #architecture: string;
  readonly #asked = new Set<string>();

  constructor(path: string, header: Header, architecture: string) {
    this.#path = path;
    this.#header = header;
    this.#architecture = architecture;
  }

  /** The key of the file's architecture: `llama.block_count` for `block_count`. */
  key(name: string): string {
    return `${this.#architecture}.${name}`;
  }

  /** Any value, as it is. */
  raw(key: string): GgufValue | undefined {
    this.#asked.add(key);
    return this.#header.metadata.get(key);
  }

  /** Keys of the file's architecture that nobody asked for. */
  unusedKeys(): string[] {
    const prefix = this.key('');
    return [...this.#header.metadata.keys()].filter((key) => key.startsWith(prefix) && !this.#asked.has(key));
  }

  text(key: string): string | undefined {
    const value = this.raw(key);
    if (value === undefined || typeof value === 'string') return value;
    return this.invalid(key, `must be a string, got ${this.#describe(key)}`);
  }

  /** A whole number within [minimum, maximum]. */
  integer(key: string, minimum: number, maximum: number): number | undefined {
    const value = this.#singleValue(key);
    if (value === undefined) return undefined;
    if (typeof value === 'number' && Number.isInteger(value) && value >= minimum && value <= maximum) return value;
    return this.invalid(key, `must be a whole number from ${minimum} to ${maximum}, got ${this.#describe(key)}`);
  }

  /** A finite number above zero, as the shortest decimal that names the same f32: 9.999999747378752e-6 becomes 1e-5. */
  positive(key: string): number | undefined {
    const value = this.#singleValue(key);
    if (value === undefined) return undefined;
    if (typeof value === 'number' && Number.isFinite(value) && value > 0) return shortestF32(value);
    return this.invalid(key, `must be a number above 0, got ${this.#describe(key)}`);
  }

  requiredInteger(key: string, minimum: number, maximum: number): number {
    return this.integer(key, minimum, maximum) ?? this.invalid(key, 'is missing');
  }

  requiredPositive(key: string): number {
    return this.positive(key) ?? this.invalid(key, 'is missing');
  }

  invalid(key: string, problem: string): never {
    throw new InvalidModelError(`${this.#path}: metadata key "${key}" ${problem}.`, {
      details: { path: this.#path, key },
    });
  }

  unsupported(key: string, problem: string): never {
    throw new UnsupportedError(`${this.#path}: metadata key "${key}" ${problem}.`, {
      details: { path: this.#path, key },
    });
  }

  /** A scalar, or an array with one value for all layers. Different values in one model are refused. */
  #singleValue(key: string): GgufValue | undefined {
    const value = this.raw(key);
    if (value === undefined || typeof value !== 'object') return value;
    const first = value[0] as GgufValue | undefined;
    if (first === undefined) return this.invalid(key, 'is an empty array');
    for (const element of value) {
      if (element !== first) return this.unsupported(key, 'differs from layer to layer, which is not supported');
    }
    return typeof first === 'bigint' ? Number(first) : first;
  }

  #describe(key: string): string {
    const type = this.#header.metadataTypes.get(key);
    const value = this.#header.metadata.get(key);
    return typeof value === 'object' ? `${type}` : `${JSON.stringify(String(value)).slice(0, 60)} (${type})`;
  }
}

/** The decimal with the fewest digits that rounds to the same f32 (nine always suffice). An f64 that is no f32 stays as it is. */
export function shortestF32(value: number): number {
  const single = Math.fround(value);
  if (single !== value) return value;
  for (let digits = 1; digits < 9; digits++) {
    const candidate = Number(single.toPrecision(digits));
    if (Math.fround(candidate) === single) return candidate;
  }
  return Number(single.toPrecision(9));
}
