import { InvalidModelError, UnsupportedError } from '@hearth/core';

/**
 * Reads an object of `quantization_config` key by key, and refuses what was not read: a key that nobody knows could change what
 * the weights mean. Unknown keys that are null or false are let pass, because they turn nothing on.
 */
export class ConfigFields {
  readonly #fields: Readonly<Record<string, unknown>>;
  readonly #where: string;
  readonly #known = new Set<string>();

  /**
   * @param fields an object of parsed JSON
   * @param where names it in messages: `/models/x/config.json: quantization_config`
   * @throws InvalidModelError when it is no object
   */
  constructor(fields: unknown, where: string) {
    if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) {
      throw new InvalidModelError(`${where} is ${shown(fields)}, expected an object.`);
    }
    this.#fields = fields as Record<string, unknown>;
    this.#where = where;
  }

  get keys(): string[] {
    return Object.keys(this.#fields);
  }

  /** The value of a key; undefined when it is missing or null. */
  value(key: string): unknown {
    this.#known.add(key);
    return Object.hasOwn(this.#fields, key) ? (this.#fields[key] ?? undefined) : undefined;
  }

  /** The object under a key. */
  object(key: string): ConfigFields {
    return new ConfigFields(this.value(key), `${this.#where}.${key}`);
  }

  /** One of the given strings, in any case. The first is meant when the key is missing. */
  word<T extends string>(key: string, ...supported: readonly [T, ...T[]]): T {
    const value = this.value(key);
    if (value === undefined) return supported[0];
    const word = supported.find((each) => typeof value === 'string' && value.toLowerCase() === each);
    return word ?? this.refuse(key, supported.join(', '));
  }

  /** @param fallback what a missing key means */
  flag(key: string, fallback: boolean): boolean {
    const value = this.value(key) ?? fallback;
    return typeof value === 'boolean' ? value : this.refuse(key, 'true or false');
  }

  /** Must be this number. */
  expectNumber(key: string, expected: number): void {
    if (this.value(key) !== expected) this.refuse(key, String(expected));
  }

  /** Keys that say how the weights were found or are best computed with, but not what they are. */
  ignore(...keys: readonly string[]): void {
    for (const key of keys) this.#known.add(key);
  }

  /** @throws UnsupportedError that names the key, what it is, and what it may be */
  refuse(key: string, supported: string): never {
    const value = Object.hasOwn(this.#fields, key) ? shown(this.#fields[key]) : 'missing';
    throw new UnsupportedError(`${this.#where}.${key} is ${value}; supported is: ${supported}.`, { details: { key } });
  }

  /** Call when everything was read. @throws UnsupportedError that names a key that was not */
  finish(): void {
    for (const [key, value] of Object.entries(this.#fields)) {
      if (this.#known.has(key) || value === null || value === false) continue;
      throw new UnsupportedError(
        `${this.#where}.${key.slice(0, 100)} is ${shown(value)}; Hearth does not know this key, and it could change what the weights mean.`,
        { details: { key } },
      );
    }
  }
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'missing';
  return text.length <= 80 ? text : `${text.slice(0, 79)}…`;
}
