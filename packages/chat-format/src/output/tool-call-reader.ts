import { JsonScanner, type ScanState } from './json-scanner.ts';
import { isBlankUnit } from './white-space.ts';

type Member = 'name' | 'arguments' | 'type' | 'id';

/** Members of a call. Both names of the arguments are in use, whatever the style. */
const members = new Map<string, Member>([
  ['"name"', 'name'],
  ['"arguments"', 'arguments'],
  ['"parameters"', 'arguments'],
  ['"type"', 'type'],
  ['"id"', 'id'],
]);
const keys = [...members.keys()];

type Place = '{' | 'key' | 'in key' | ':' | 'value' | 'in value' | ', or }';

/**
 * Reads one call, `{"name": ..., "arguments": {...}}` in either order, unit by unit. It breaks at the first unit that no
 * call can have: another member, a tool that was not given, wrong JSON.
 *
 * `type` may be there as `"function"`, and an `id`, which is not used. Arguments that are a string with JSON in it, a habit
 * of some models, are that JSON; `null` and absent ones are `{}`.
 */
export class ToolCallReader {
  readonly #toolNames: ReadonlySet<string>;
  readonly #seen = new Set<Member>();
  #place: Place = '{';
  /** Member whose value is read. */
  #member: Member | undefined;
  /** Text of the key or value that is read; arguments that are an object are not collected here. */
  #token = '';
  #value = new JsonScanner();
  #isObject = false;
  #name: string | undefined;
  /** Arguments that were not taken yet, or `undefined` as long as it is open whether there are any. */
  #arguments: string | undefined;

  constructor(toolNames: ReadonlySet<string>) {
    this.#toolNames = toolNames;
  }

  /** Takes the next UTF-16 unit. After `whole` or `broken` nothing may follow. */
  push(unit: string): ScanState {
    if (this.#place === 'in value') return this.#inValue(unit);
    if (this.#place === 'in key') return this.#inKey(unit);
    if (isBlankUnit(unit)) return 'open';
    switch (this.#place) {
      case '{':
        this.#place = 'key';
        return unit === '{' ? 'open' : 'broken';
      case 'key':
        this.#token = '';
        this.#place = 'in key';
        return this.#inKey(unit);
      case ':':
        this.#place = 'value';
        return unit === ':' ? 'open' : 'broken';
      case 'value':
        this.#token = '';
        this.#value = new JsonScanner();
        this.#isObject = unit === '{';
        this.#place = 'in value';
        return this.#mayBegin(unit) ? this.#inValue(unit) : 'broken';
      default:
        if (unit === ',') {
          this.#place = 'key';
          return 'open';
        }
        if (unit !== '}' || this.#name === undefined) return 'broken';
        this.#arguments ??= '{}';
        return 'whole';
    }
  }

  /** Name of the tool, as soon as it is certain that this begins a call: the name and the kind of the arguments are known. */
  get startedName(): string | undefined {
    return this.#arguments === undefined ? undefined : this.#name;
  }

  /** Text of the arguments since the last time. */
  takeArguments(): string {
    const text = this.#arguments ?? '';
    if (this.#arguments !== undefined) this.#arguments = '';
    return text;
  }

  #inKey(unit: string): ScanState {
    this.#token += unit;
    const member = members.get(this.#token);
    if (member === undefined) return keys.some((key) => key.startsWith(this.#token)) ? 'open' : 'broken';
    if (this.#seen.has(member)) return 'broken';
    this.#seen.add(member);
    this.#member = member;
    this.#place = ':';
    return 'open';
  }

  #mayBegin(unit: string): boolean {
    return unit === '"' || (this.#member === 'arguments' && (unit === '{' || unit === 'n'));
  }

  #inValue(unit: string): ScanState {
    const state = this.#value.push(unit);
    if (state === 'broken') return 'broken';
    if (this.#isObject) this.#arguments = (this.#arguments ?? '') + unit;
    else this.#token += unit;
    if (state === 'open') return 'open';
    this.#place = ', or }';
    return this.#isObject || this.#endValue() ? 'open' : 'broken';
  }

  #endValue(): boolean {
    const value = JSON.parse(this.#token) as string | null;
    switch (this.#member) {
      case 'name':
        if (value === null || !this.#toolNames.has(value)) return false;
        this.#name = value;
        return true;
      case 'type':
        return value === 'function';
      case 'arguments':
        this.#arguments = value ?? '{}';
        return isObject(this.#arguments);
      default:
        return true;
    }
  }
}

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
