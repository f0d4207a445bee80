import type { GgufTypedValue } from './metadata-encoder.ts';

/** Collects metadata for a writer. Keys are those of one architecture, `attention.head_count`, unless `general` is said. */
export class MetadataBuilder {
  readonly entries = new Map<string, GgufTypedValue | string | boolean>();
  readonly #architecture: string;

  constructor(architecture: string) {
    this.#architecture = architecture;
    this.general('general.architecture', architecture);
  }

  /** Undefined is left out, here and below. */
  u32(name: string, value: number | undefined): void {
    if (value !== undefined) this.general(`${this.#architecture}.${name}`, { type: 'u32', value });
  }

  f32(name: string, value: number | undefined): void {
    if (value !== undefined) this.general(`${this.#architecture}.${name}`, { type: 'f32', value });
  }

  text(name: string, value: string): void {
    this.general(`${this.#architecture}.${name}`, value);
  }

  /** A key as it is. */
  general(key: string, value: GgufTypedValue | string | boolean): void {
    this.entries.set(key, value);
  }
}
