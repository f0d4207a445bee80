import { InvalidArgumentError, UnsupportedError } from '@hearth/core';

type Json = Readonly<Record<string, unknown>>;

/** Reads values out of a config.json that is to be written in another form; every error names the field. Null counts as absent. */
export class ConfigFields {
  readonly #json: Json;
  readonly #where: string;

  /** @param where the config, or the object in it, for messages */
  constructor(json: Json, where = 'the config') {
    this.#json = json;
    this.#where = where;
  }

  raw(name: string): unknown {
    return this.#json[name] ?? undefined;
  }

  has(name: string): boolean {
    return this.raw(name) !== undefined;
  }

  number(name: string): number | undefined {
    const value = this.raw(name);
    if (value === undefined) return undefined;
    if (typeof value === 'number' && Number.isFinite(value)) return value;
    return this.invalid(name, `must be a number, got ${shown(value)}`);
  }

  requiredNumber(name: string): number {
    const value = this.number(name);
    if (value !== undefined) return value;
    throw new InvalidArgumentError(`${name} is missing in ${this.#where}.`, { details: { field: name } });
  }

  /** Numbers above zero. */
  numbers(name: string): readonly number[] | undefined {
    const value = this.raw(name);
    if (value === undefined) return undefined;
    const isList = Array.isArray(value) && value.every((each) => Number.isFinite(each) && each > 0);
    return isList ? value : this.invalid(name, `must be a list of numbers above 0, got ${shown(value)}`);
  }

  list(name: string): readonly unknown[] | undefined {
    const value = this.raw(name);
    if (value === undefined || Array.isArray(value)) return value;
    return this.invalid(name, `must be a list, got ${shown(value)}`);
  }

  /** An object inside; an empty one when it is absent. */
  object(name: string): ConfigFields {
    const value = this.raw(name) ?? {};
    if (typeof value === 'object' && !Array.isArray(value)) return new ConfigFields(value as Json, name);
    return this.invalid(name, 'must be an object or null');
  }

  /** Refuses a field that has another value than one of these, which GGUF files of this architecture stand for. */
  refuseUnless(name: string, allowed: readonly unknown[]): void {
    const value = this.raw(name);
    if (value === undefined || allowed.includes(value)) return;
    const expected = allowed.map(shown).join(' or ');
    this.unsupported(name, `is ${shown(value)}${expected && `; it must be ${expected}`}`);
  }

  /** Refuses fields that are not known: nobody can tell what they would change. */
  refuseOthers(known: readonly string[]): void {
    const others = Object.keys(this.#json).filter((name) => this.has(name) && !known.includes(name));
    if (others.length > 0) this.unsupported(others.slice(0, 10).join(', '), 'is not known');
  }

  invalid(name: string, problem: string): never {
    throw new InvalidArgumentError(`${name} of ${this.#where} ${problem}.`, { details: { field: name } });
  }

  unsupported(name: string, problem: string): never {
    throw new UnsupportedError(
      `${name} of ${this.#where} ${problem}. A GGUF file of this architecture cannot say that.`,
      {
        details: { field: name },
      },
    );
  }
}

function shown(value: unknown): string {
  return String(JSON.stringify(value)).slice(0, 60);
}
