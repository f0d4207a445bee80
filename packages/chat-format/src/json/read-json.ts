import { InvalidArgumentError } from '@hearth/core';
import { ExactInteger } from '../interpreter/exact-values.ts';
import {
  ArrayValue,
  BooleanValue,
  FloatValue,
  IntegerValue,
  NullValue,
  ObjectValue,
  StringValue,
  type Value,
} from '../interpreter/runtime-values.ts';
import { maxJsonDepth } from './write-json.ts';

const number = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;
const blanks = /[ \t\n\r]*/y;
/** A string whose escapes are left to `JSON.parse`, which also refuses wrong ones. */
const quoted = /"(?:[^"\\]|\\.)*"/sy;

/**
 * Reads JSON into the values of a template, as Python's `json.loads` would: `1.0` is a float and `1` an integer of any
 * size. The texts of all strings, keys too, pass through `onString`.
 *
 * @throws InvalidArgumentError when the text is no JSON or nests too deep; the message begins with `place`
 */
export function readJson(text: string, place: string, onString: (text: string) => string = (same) => same): Value {
  return new JsonReader(text, place, onString).read();
}

class JsonReader {
  readonly #text: string;
  readonly #place: string;
  readonly #onString: (text: string) => string;
  #position = 0;

  constructor(text: string, place: string, onString: (text: string) => string) {
    this.#text = text;
    this.#place = place;
    this.#onString = onString;
  }

  read(): Value {
    const value = this.#value(0);
    this.#take(blanks);
    if (this.#position < this.#text.length) throw this.#error('something follows after its end');
    return value;
  }

  #value(depth: number): Value {
    if (depth > maxJsonDepth) throw this.#error(`it is nested more than ${maxJsonDepth} levels deep`);
    this.#take(blanks);
    switch (this.#text[this.#position]) {
      case '{':
        return this.#object(depth);
      case '[':
        return this.#list(depth);
      case '"':
        return new StringValue(this.#string());
      case 't':
        return this.#word('true', new BooleanValue(true));
      case 'f':
        return this.#word('false', new BooleanValue(false));
      case 'n':
        return this.#word('null', new NullValue(null));
      default:
        return this.#number();
    }
  }

  #object(depth: number): Value {
    const members = new Map<string, Value>();
    this.#position++;
    if (this.#closes('}')) return new ObjectValue(members);
    for (;;) {
      this.#take(blanks);
      if (this.#text[this.#position] !== '"') throw this.#error('a key is expected');
      const key = this.#string();
      this.#expect(':');
      // As in Python, the last of equal keys counts, at the place of the first.
      members.set(key, this.#value(depth + 1));
      if (this.#closes('}')) return new ObjectValue(members);
      this.#expect(',');
    }
  }

  #list(depth: number): Value {
    const items: Value[] = [];
    this.#position++;
    if (this.#closes(']')) return new ArrayValue(items);
    for (;;) {
      items.push(this.#value(depth + 1));
      if (this.#closes(']')) return new ArrayValue(items);
      this.#expect(',');
    }
  }

  #number(): Value {
    const match = this.#take(number);
    if (match === undefined) throw this.#error('a value is expected');
    const [digits, fraction, exponent] = match;
    if (fraction !== undefined || exponent !== undefined) return new FloatValue(Number(digits));
    const value = Number(digits);
    return Number.isSafeInteger(value) ? new IntegerValue(value + 0) : new ExactInteger(digits);
  }

  #string(): string {
    const raw = this.#take(quoted)?.[0];
    if (raw === undefined) throw this.#error('a string does not end');
    try {
      return this.#onString(JSON.parse(raw) as string);
    } catch {
      throw this.#error('a string before this place holds a character or escape that JSON does not allow');
    }
  }

  #word(word: string, value: Value): Value {
    if (!this.#text.startsWith(word, this.#position)) throw this.#error('a value is expected');
    this.#position += word.length;
    return value;
  }

  #closes(bracket: string): boolean {
    this.#take(blanks);
    if (this.#text[this.#position] !== bracket) return false;
    this.#position++;
    return true;
  }

  #expect(character: string): void {
    if (!this.#closes(character)) throw this.#error(`"${character}" is expected`);
  }

  #take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#position;
    const match = pattern.exec(this.#text);
    if (match === null) return undefined;
    this.#position = pattern.lastIndex;
    return match;
  }

  #error(reason: string): InvalidArgumentError {
    return new InvalidArgumentError(`${this.#place} is no valid JSON: ${reason} at character ${this.#position}.`, {
      details: { place: this.#place, position: this.#position },
    });
  }
}
