import { isBlankUnit } from './white-space.ts';

/** How far a text is: it may go on, it has come to its end, or its last unit cannot stand there. */
export type ScanState = 'open' | 'whole' | 'broken';

type Expected =
  | 'value'
  | 'value or ]'
  | 'key'
  | 'key or }'
  | ':'
  | ', or end'
  | 'in string'
  | 'in escape'
  | 'in hex'
  | 'in word'
  | 'in number';

const words = ['true', 'false', 'null'];
const numberUnit = /[-+.\deE]/;
const wholeNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/**
 * Checks one JSON value that comes unit by unit and finds its end. Parsers of whole texts cannot say after each unit
 * whether the text can still become JSON, and those for streams give values where we need the text itself.
 *
 * The value must be one that shows its own end: an object, list, string, `true`, `false` or `null`.
 */
export class JsonScanner {
  #expected: Expected = 'value';
  /** Closing brackets of what is open. */
  readonly #closers: string[] = [];
  /** What has come of a word, number or `\u` escape. */
  #token = '';
  /** Whether the string that is read is a key. */
  #isKey = false;

  /** Takes the next UTF-16 unit. After `whole` or `broken` nothing may follow. */
  push(unit: string): ScanState {
    switch (this.#expected) {
      case 'in string':
        return this.#inString(unit);
      case 'in escape':
        this.#token = '';
        this.#expected = unit === 'u' ? 'in hex' : 'in string';
        return '"\\/bfnrtu'.includes(unit) ? 'open' : 'broken';
      case 'in hex':
        this.#token += unit;
        if (this.#token.length === 4) this.#expected = 'in string';
        return /[\da-fA-F]/.test(unit) ? 'open' : 'broken';
      case 'in word':
        return this.#inWord(unit);
      case 'in number':
        if (numberUnit.test(unit)) {
          this.#token += unit;
          return 'open';
        }
        if (!wholeNumber.test(this.#token)) return 'broken';
        this.#expected = ', or end';
        return this.#between(unit);
      default:
        return this.#between(unit);
    }
  }

  #between(unit: string): ScanState {
    if (isBlankUnit(unit)) return 'open';
    switch (this.#expected) {
      case 'value':
        return this.#beginValue(unit);
      case 'value or ]':
        return unit === ']' ? this.#close(unit) : this.#beginValue(unit);
      case 'key or }':
        return unit === '}' ? this.#close(unit) : this.#beginKey(unit);
      case 'key':
        return this.#beginKey(unit);
      case ':':
        this.#expected = 'value';
        return unit === ':' ? 'open' : 'broken';
      default:
        if (unit !== ',') return this.#close(unit);
        this.#expected = this.#closers.at(-1) === '}' ? 'key' : 'value';
        return 'open';
    }
  }

  #beginValue(unit: string): ScanState {
    this.#token = unit;
    if (unit === '{' || unit === '[') {
      this.#closers.push(unit === '{' ? '}' : ']');
      this.#expected = unit === '{' ? 'key or }' : 'value or ]';
    } else if (unit === '"') {
      this.#isKey = false;
      this.#expected = 'in string';
    } else if (words.some((word) => word.startsWith(unit))) {
      this.#expected = 'in word';
    } else {
      this.#expected = 'in number';
      // A number alone does not show its end.
      return /[-\d]/.test(unit) && this.#closers.length > 0 ? 'open' : 'broken';
    }
    return 'open';
  }

  #beginKey(unit: string): ScanState {
    this.#isKey = true;
    this.#expected = 'in string';
    return unit === '"' ? 'open' : 'broken';
  }

  #inString(unit: string): ScanState {
    if (unit === '\\') {
      this.#expected = 'in escape';
      return 'open';
    }
    if (unit !== '"') return unit < ' ' ? 'broken' : 'open';
    if (!this.#isKey) return this.#endValue();
    this.#expected = ':';
    return 'open';
  }

  #inWord(unit: string): ScanState {
    this.#token += unit;
    if (words.includes(this.#token)) return this.#endValue();
    return words.some((word) => word.startsWith(this.#token)) ? 'open' : 'broken';
  }

  #close(unit: string): ScanState {
    return this.#closers.pop() === unit ? this.#endValue() : 'broken';
  }

  #endValue(): ScanState {
    this.#expected = ', or end';
    return this.#closers.length === 0 ? 'whole' : 'open';
  }
}
