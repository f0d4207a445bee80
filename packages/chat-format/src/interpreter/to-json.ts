import type { Budget } from './budget.ts';
import { ExactInteger } from './exact-values.ts';
import { pythonFloat } from './python-text.ts';
import {
  ArrayValue,
  BooleanValue,
  FloatValue,
  IntegerValue,
  isNamespace,
  NullValue,
  ObjectValue,
  StringValue,
  UndefinedValue,
  type Value,
} from './runtime-values.ts';

/** Options of the `tojson` filter as Transformers defines it: those of Python's `json.dumps`. */
export interface ToJsonOptions {
  /** Blanks per level, or the string to indent by. */
  indent: number | string | undefined;
  /** Between items, and between key and value. */
  separators: readonly [item: string, key: string] | undefined;
  ensureAscii: boolean;
  sortKeys: boolean;
}

/**
 * `json.dumps` of Python, which is not what the library writes: numbers keep their `.0` and all their digits, nothing is
 * escaped for HTML, and `indent` works with separators.
 */
export function toJson(value: Value, options: ToJsonOptions, budget: Budget): string {
  return new JsonWriter(options, budget).write(value);
}

/** Deepest nesting that is written; a template cannot build a cycle, but it can nest in a loop. */
const maxDepth = 500;

class JsonWriter {
  readonly #options: ToJsonOptions;
  readonly #budget: Budget;
  readonly #indent: string | undefined;
  readonly #itemSeparator: string;
  readonly #keySeparator: string;
  #text = '';

  constructor(options: ToJsonOptions, budget: Budget) {
    this.#options = options;
    this.#budget = budget;
    const { indent, separators } = options;
    if (typeof indent === 'number') budget.checkString(indent * maxDepth);
    this.#indent = typeof indent === 'number' ? ' '.repeat(Math.max(indent, 0)) : indent;
    this.#itemSeparator = separators?.[0] ?? (this.#indent === undefined ? ', ' : ',');
    this.#keySeparator = separators?.[1] ?? ': ';
  }

  write(value: Value): string {
    this.#value(value, 0);
    return this.#text;
  }

  #value(value: Value, depth: number): void {
    if (depth > maxDepth) throw new Error(`tojson: the value is nested more than ${maxDepth} levels deep`);
    if (value instanceof StringValue) this.#add(this.#string(value.value));
    else if (value instanceof BooleanValue) this.#add(String(value.value));
    else if (value instanceof NullValue) this.#add('null');
    else if (value instanceof ExactInteger) this.#add(value.digits);
    else if (value instanceof IntegerValue) this.#add(BigInt(value.value).toString());
    else if (value instanceof FloatValue) this.#add(jsonFloat(value.value));
    else if (value instanceof ArrayValue)
      this.#list('[', ']', value.value, depth, (item) => this.#value(item, depth + 1));
    else if (value instanceof ObjectValue || isNamespace(value)) this.#object(value.value, depth);
    else if (value instanceof UndefinedValue) throw new Error('tojson: the value is undefined');
    else throw new Error(`tojson: a ${value.type} cannot be written as JSON`);
  }

  #object(members: Map<string, Value>, depth: number): void {
    const entries = [...members];
    if (this.#options.sortKeys) entries.sort(([a], [b]) => compareCodePoints(a, b));
    this.#list('{', '}', entries, depth, ([key, item]) => {
      this.#add(this.#string(key) + this.#keySeparator);
      this.#value(item, depth + 1);
    });
  }

  #list<T>(start: string, end: string, items: readonly T[], depth: number, write: (item: T) => void): void {
    this.#add(start);
    items.forEach((item, index) => {
      if (index > 0) this.#add(this.#itemSeparator);
      this.#newLine(depth + 1);
      write(item);
    });
    if (items.length > 0) this.#newLine(depth);
    this.#add(end);
  }

  #newLine(depth: number): void {
    if (this.#indent !== undefined) this.#add(`\n${this.#indent.repeat(depth)}`);
  }

  #string(text: string): string {
    const json = JSON.stringify(text).replaceAll('\x7f', this.#options.ensureAscii ? '\\u007f' : '\x7f');
    if (!this.#options.ensureAscii) return json;
    // U+FDD0 to U+FDEF stay, because one of them marks control words and is taken out again (control-words.ts).
    return json.replace(
      /[\u0080-\ufdcf\ufdf0-\uffff]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
  }

  #add(text: string): void {
    this.#text += text;
    this.#budget.checkString(this.#text.length);
  }
}

function jsonFloat(value: number): string {
  if (Number.isFinite(value)) return pythonFloat(value);
  return Number.isNaN(value) ? 'NaN' : value > 0 ? 'Infinity' : '-Infinity';
}

/** Python compares strings by code points, JavaScript by UTF-16 units. */
export function compareCodePoints(a: string, b: string): number {
  const left = Array.from(a, (character) => character.codePointAt(0) as number);
  const right = Array.from(b, (character) => character.codePointAt(0) as number);
  for (let index = 0; index < left.length && index < right.length; index++) {
    const difference = (left[index] as number) - (right[index] as number);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}
