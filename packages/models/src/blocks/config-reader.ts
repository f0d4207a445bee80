import { InvalidModelError, UnsupportedError } from '@hearth/core';

/** Bounds of a number in a config; both ends are allowed. */
export interface NumberOptions {
  readonly min: number;
  readonly max: number;
  /** Taken when the key is absent or null. Without it the key is required. */
  readonly default?: number;
}

/**
 * Reads a parsed config.json key by key. The file is untrusted: every value is checked for type and bounds where it enters,
 * so that nothing further inside has to. A key that is null counts as absent, as it mostly does in Transformers; `orNull` is
 * for the keys where the two differ.
 *
 * Values that make no sense are an InvalidModelError, sensible ones that Hearth does not do are an UnsupportedError. Both
 * name the key and the value.
 */
export class ConfigReader {
  /** The file, or the key of a nested object, for messages. */
  readonly where: string;
  readonly #json: Readonly<Record<string, unknown>>;

  constructor(json: unknown, where = 'config.json') {
    if (typeof json !== 'object' || json === null || Array.isArray(json)) {
      throw new InvalidModelError(`${where} must be a JSON object, got ${shown(json)}.`);
    }
    this.#json = json as Record<string, unknown>;
    this.where = where;
  }

  /** Keys that are present and not null. */
  keys(): string[] {
    return Object.keys(this.#json).filter((key) => this.has(key));
  }

  has(key: string): boolean {
    return this.raw(key) !== undefined;
  }

  /** The value as it is in the file; undefined when it is absent or null. */
  raw(key: string): unknown {
    return Object.hasOwn(this.#json, key) ? (this.#json[key] ?? undefined) : undefined;
  }

  integer(key: string, options: NumberOptions): number {
    const value = this.#number(key, options, 'an integer');
    if (!Number.isSafeInteger(value)) this.fail(key, 'an integer');
    return value;
  }

  number(key: string, options: NumberOptions): number {
    return this.#number(key, options, 'a number');
  }

  /** What `read` gives, but null when the key is there and says null: no window, no softcap, whatever the default is. */
  orNull<T>(key: string, read: (key: string) => T): T | null {
    return Object.hasOwn(this.#json, key) && this.#json[key] === null ? null : read(key);
  }

  /** A list of numbers, as many as `length` says. */
  numbers(key: string, { length, min, max }: NumberOptions & { readonly length: number }): number[] {
    const value = this.raw(key);
    const isInside = (item: unknown) => typeof item === 'number' && item >= min && item <= max;
    if (!Array.isArray(value) || value.length !== length || !value.every(isInside)) {
      this.fail(key, `a list of ${length} numbers from ${min} to ${max}`);
    }
    return value as number[];
  }

  /** A list of whole numbers, such as ids of layers or tokens; empty when it is absent. */
  integers(key: string, { min, max }: NumberOptions): number[] {
    const value = this.raw(key) ?? [];
    const isInside = (item: unknown) =>
      Number.isSafeInteger(item) && (item as number) >= min && (item as number) <= max;
    if (!Array.isArray(value) || !value.every(isInside)) {
      this.fail(key, `a list of integers from ${min} to ${max}`);
    }
    return value as number[];
  }

  /** A list of texts; undefined when it is absent. */
  strings(key: string): string[] | undefined {
    const value = this.raw(key);
    if (value === undefined) return undefined;
    if (!Array.isArray(value) || !value.every((item) => typeof item === 'string')) this.fail(key, 'a list of strings');
    return value as string[];
  }

  /** @param fallback taken when the key is absent; without it the result is undefined then */
  boolean(key: string, fallback: boolean): boolean;
  boolean(key: string): boolean | undefined;
  boolean(key: string, fallback?: boolean): boolean | undefined {
    const value = this.raw(key) ?? fallback;
    if (value !== undefined && typeof value !== 'boolean') this.fail(key, 'true or false');
    return value;
  }

  string(key: string, fallback: string): string {
    const value = this.raw(key) ?? fallback;
    if (typeof value !== 'string') this.fail(key, 'a string');
    return value;
  }

  /** A nested object; undefined when it is absent. */
  object(key: string): ConfigReader | undefined {
    const value = this.raw(key);
    return value === undefined ? undefined : new ConfigReader(value, `${key} in ${this.where}`);
  }

  /** One token id, a list of them, or none. */
  tokenIds(key: string): number[] {
    const value = this.raw(key) ?? [];
    const ids: unknown[] = Array.isArray(value) ? value : [value];
    if (!ids.every((id) => Number.isInteger(id) && (id as number) >= 0 && (id as number) < 2 ** 31)) {
      this.fail(key, 'a token id or a list of token ids');
    }
    return ids as number[];
  }

  /** Refuses every value of a key but the ones that change nothing here. Absent is fine. */
  refuseUnless(key: string, harmless: readonly unknown[], what: string): void {
    const value = this.raw(key);
    if (value === undefined || harmless.includes(value)) return;
    throw new UnsupportedError(
      `${key} is ${shown(value)} in ${this.where}: ${what} is not supported yet (accepted: ${harmless.map(shown).join(', ') || 'leaving it out'}).`,
      { details: { key, value } },
    );
  }

  /** Throws the InvalidModelError of a key whose value is not what is expected there. */
  fail(key: string, expected: string): never {
    const value = this.raw(key);
    throw new InvalidModelError(`${key} in ${this.where} must be ${expected}, got ${shown(value)}.`, {
      details: { key, value },
    });
  }

  #number(key: string, options: NumberOptions, what: string): number {
    const value = this.raw(key) ?? options.default;
    const { min, max } = options;
    if (typeof value !== 'number' || !(value >= min && value <= max)) this.fail(key, `${what} from ${min} to ${max}`);
    return value;
  }
}

/** A value for a message, cut short: the file may hold anything. */
function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  // JSON text like 1e400 is read as Infinity, which JSON.stringify would call null.
  const text = typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? String(value));
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
