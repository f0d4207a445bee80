import { InvalidArgumentError, LimitExceededError } from '@hearth/core';

const number = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;
const tab = 0x09;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const space = 0x20;
const quotationMark = 0x22;
const backslash = 0x5c;
/** A string whose escapes are left to `JSON.parse`, which also refuses wrong ones. */
const quoted = /"(?:[^"\\]|\\.)*"/sy;

/** Makes values of the parts of a JSON text. */
export interface JsonBuilder<Value> {
  /** `members` in the order of the text. */
  object(members: Map<string, Value>): Value;
  list(items: Value[]): Value;
  string(text: string): Value;
  /** `text` is the number as it stands; integers have neither fraction nor exponent. */
  number(text: string, isInteger: boolean): Value;
  constant(value: boolean | null): Value;
  key(text: string): string;
}

/** Bounds and rules of reading. */
export interface JsonRules {
  /** Name of the text for messages, e.g. `body`. */
  place: string;
  maxDepth: number;
  /**
   * Most values: numbers, texts, constants, lists and objects; keys count as values, too. Of short whole numbers, such as
   * token ids, four count as one: that is how much faster they are read and checked. Default: no bound.
   */
  maxValues?: number;
  /** Longest number, in characters. Default: no bound. */
  maxNumberLength?: number;
  /** Which of equal keys counts: the last, at the place of the first, as in Python; or none, it is an error. */
  equalKeys: 'last' | 'refused';
}

/**
 * Reads one JSON value, strictly as RFC 8259 has it, with values of the builder's choice.
 *
 * @throws InvalidArgumentError when the text is no JSON, nests too deep or holds too long a number; the message begins with
 *   `place`, and `details.position` counts UTF-16 units
 * @throws LimitExceededError when it holds too many values
 */
export function buildJson<Value>(text: string, builder: JsonBuilder<Value>, rules: JsonRules): Value {
  return new JsonReader(text, builder, rules).read();
}

class JsonReader<Value> {
  readonly #text: string;
  readonly #builder: JsonBuilder<Value>;
  readonly #rules: JsonRules;
  #position = 0;
  #numValues = 0;

  constructor(text: string, builder: JsonBuilder<Value>, rules: JsonRules) {
    this.#text = text;
    this.#builder = builder;
    this.#rules = rules;
  }

  read(): Value {
    const value = this.#value(0);
    this.#skipBlanks();
    if (this.#position < this.#text.length) throw this.#error('something follows after its end');
    return value;
  }

  #value(depth: number): Value {
    const { maxDepth } = this.#rules;
    if (depth > maxDepth) throw this.#error(`it is nested more than ${maxDepth} levels deep`);
    this.#skipBlanks();
    const integer = this.#shortInteger();
    this.#count(integer === undefined ? 1 : 0.25);
    if (integer !== undefined) return this.#builder.number(integer, true);
    switch (this.#text[this.#position]) {
      case '{':
        return this.#object(depth);
      case '[':
        return this.#list(depth);
      case '"':
        return this.#builder.string(this.#string());
      case 't':
        return this.#constant('true', true);
      case 'f':
        return this.#constant('false', false);
      case 'n':
        return this.#constant('null', null);
      default:
        return this.#number();
    }
  }

  #object(depth: number): Value {
    const members = new Map<string, Value>();
    this.#position++;
    if (this.#closes('}')) return this.#builder.object(members);
    for (;;) {
      this.#skipBlanks();
      if (this.#text[this.#position] !== '"') throw this.#error('a key is expected');
      this.#count(1);
      const key = this.#builder.key(this.#string());
      if (this.#rules.equalKeys === 'refused' && members.has(key)) {
        throw this.#error(`the key ${JSON.stringify(key.slice(0, 80))} comes a second time in one object`);
      }
      this.#expect(':');
      members.set(key, this.#value(depth + 1));
      if (this.#closes('}')) return this.#builder.object(members);
      this.#expect(',');
    }
  }

  #list(depth: number): Value {
    const items: Value[] = [];
    this.#position++;
    if (this.#closes(']')) return this.#builder.list(items);
    for (;;) {
      items.push(this.#value(depth + 1));
      if (this.#closes(']')) return this.#builder.list(items);
      this.#expect(',');
    }
  }

  #number(): Value {
    const match = this.#take(number);
    if (match === undefined) throw this.#error('a value is expected');
    const [text, fraction, exponent] = match;
    const { maxNumberLength = Number.POSITIVE_INFINITY } = this.#rules;
    if (text.length > maxNumberLength) {
      throw this.#error(`a number has ${text.length} characters, but the limit is ${maxNumberLength}, and it ends`);
    }
    return this.#builder.number(text, fraction === undefined && exponent === undefined);
  }

  /** Token ids and the like, by the thousand: five times as fast as by the expression. */
  #shortInteger(): string | undefined {
    const start = this.#position;
    let end = start;
    while (isDigit(this.#text.charCodeAt(end))) end++;
    const length = end - start;
    if (length === 0 || length > 15 || (length > 1 && this.#text[start] === '0')) return undefined;
    const next = this.#text[end];
    if (next === '.' || next === 'e' || next === 'E') return undefined;
    this.#position = end;
    return this.#text.slice(start, end);
  }

  #string(): string {
    const short = this.#shortString();
    if (short !== undefined) return short;
    const raw = this.#take(quoted)?.[0];
    if (raw === undefined) throw this.#error('a string does not end');
    try {
      return JSON.parse(raw) as string;
    } catch {
      throw this.#error('a string before this place holds a character or escape that JSON does not allow');
    }
  }

  #constant(word: string, value: boolean | null): Value {
    if (!this.#text.startsWith(word, this.#position)) throw this.#error('a value is expected');
    this.#position += word.length;
    return this.#builder.constant(value);
  }

  #closes(bracket: string): boolean {
    this.#skipBlanks();
    if (this.#text[this.#position] !== bracket) return false;
    this.#position++;
    return true;
  }

  #expect(character: string): void {
    if (!this.#closes(character)) throw this.#error(`"${character}" is expected`);
  }

  /** Keys and the like. Without an escape there is nothing to find but the end. */
  #shortString(): string | undefined {
    const start = this.#position + 1;
    for (let end = start; end < start + 64; end++) {
      const code = this.#text.charCodeAt(end);
      if (code === quotationMark) {
        this.#position = end + 1;
        return this.#text.slice(start, end);
      }
      if (code === backslash || !(code >= space)) return undefined;
    }
    return undefined;
  }

  #count(weight: number): void {
    const { maxValues = Number.POSITIVE_INFINITY } = this.#rules;
    this.#numValues += weight;
    if (this.#numValues <= maxValues) return;
    const { place } = this.#rules;
    throw new LimitExceededError(`${place} holds more than ${maxValues} values.`, {
      details: { place, limit: 'values', maximum: maxValues },
    });
  }

  #skipBlanks(): void {
    for (;;) {
      const code = this.#text.charCodeAt(this.#position);
      if (code !== space && code !== lineFeed && code !== carriageReturn && code !== tab) return;
      this.#position++;
    }
  }

  #take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#position;
    const match = pattern.exec(this.#text);
    if (match === null) return undefined;
    this.#position = pattern.lastIndex;
    return match;
  }

  #error(reason: string): InvalidArgumentError {
    const { place } = this.#rules;
    return new InvalidArgumentError(`${place} is no valid JSON: ${reason} at character ${this.#position}.`, {
      details: { place, position: this.#position },
    });
  }
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}
