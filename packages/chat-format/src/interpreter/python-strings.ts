import type { Budget } from './budget.ts';
import {
  ArrayValue,
  BooleanValue,
  IntegerValue,
  isKeywordArguments,
  NullValue,
  StringValue,
  TupleValue,
  type Value,
} from './runtime-values.ts';
import type { TextGuard } from './text-guard.ts';

/** What a method may use besides its string. */
export interface StringContext {
  budget: Budget;
  guard: TextGuard;
}

/** A method of `str`: gets the string, the positional arguments and the named ones. */
export type StringMethod = (
  text: string,
  args: readonly Value[],
  named: ReadonlyMap<string, Value>,
  context: StringContext,
) => Value;

/** White space as Python's `str.isspace` has it. JavaScript's `trim` takes U+FEFF too and leaves U+0085 and U+001C to U+001F. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: Python counts them as white space
const blank = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: Python counts them as line breaks
const lineBreak = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/;

const string = (text: string) => new StringValue(text);
const boolean = (value: boolean) => new BooleanValue(value);
const strings = (texts: readonly string[]) => new ArrayValue(texts.map(string));

/** Cuts characters off the ends: those in `characters`, or white space. */
export function strip(text: string, characters: string | undefined, ends: 'both' | 'left' | 'right'): string {
  const set = characters === undefined ? undefined : new Set(characters);
  const isCut = (character: string) => (set === undefined ? blank.test(character) : set.has(character));
  let start = 0;
  let end = text.length;
  while (ends !== 'right' && start < end) {
    const character = String.fromCodePoint(text.codePointAt(start) as number);
    if (!isCut(character)) break;
    start += character.length;
  }
  while (ends !== 'left' && end > start) {
    const pair = text.slice(Math.max(end - 2, start), end);
    const character = (pair.codePointAt(0) as number) > 0xffff ? pair : pair.slice(-1);
    if (!isCut(character)) break;
    end -= character.length;
  }
  return text.slice(start, end);
}

/** Number of characters (code points), which is what Python counts. Give it the plain text. */
export function lengthOf(text: string): number {
  let length = text.length;
  for (let index = 1; index < text.length; index++) {
    if ((text.codePointAt(index - 1) as number) > 0xffff) length--;
  }
  return length;
}

/** `text[start:stop:step]`, counted in characters. */
export function sliceText(
  text: string,
  start: number | undefined,
  stop: number | undefined,
  step: number,
  guard: TextGuard,
): string {
  const isSimple = guard.plain(text) === text && !/\p{Surrogate}|[\u{10000}-\u{10ffff}]/u.test(text);
  if (step === 1 && isSimple) return text.slice(start, stop);
  const characters = guard.characters(text);
  const { length } = characters;
  const clamp = (index: number, low: number, high: number) =>
    Math.min(Math.max(index < 0 ? index + length : index, low), high);
  if (step > 0) {
    const from = clamp(start ?? 0, 0, length);
    const to = clamp(stop ?? length, 0, length);
    return characters
      .slice(from, to)
      .filter((_, index) => index % step === 0)
      .join('');
  }
  const from = start === undefined ? length - 1 : clamp(start, -1, length - 1);
  const to = stop === undefined ? -1 : clamp(stop, -1, length - 1);
  const picked: string[] = [];
  for (let index = from; index > to; index += step) picked.push(characters[index] as string);
  return picked.join('');
}

/** `str.split`: at a separator, or at runs of white space; at most `limit` times if it is not negative. */
function split(text: string, separator: string | undefined, limit: number): string[] {
  if (separator === '') throw new Error('empty separator');
  const parts: string[] = [];
  let rest = separator === undefined ? strip(text, undefined, 'left') : text;
  const pattern = new RegExp(`${blank.source}+`);
  while (limit < 0 || parts.length < limit) {
    const match = separator === undefined ? pattern.exec(rest) : undefined;
    const at = separator === undefined ? (match?.index ?? -1) : rest.indexOf(separator);
    if (at < 0) break;
    parts.push(rest.slice(0, at));
    rest = rest.slice(at + (match?.[0].length ?? (separator as string).length));
  }
  if (separator !== undefined || rest !== '') parts.push(rest);
  return parts;
}

function rsplit(text: string, separator: string | undefined, limit: number): string[] {
  const reverse = (value: string) => Array.from(value).reverse().join('');
  const mirrored = split(reverse(text), separator === undefined ? undefined : reverse(separator), limit);
  return mirrored.reverse().map(reverse);
}

/** `str.replace`, whose empty `from` stands before each character and at the end. */
export function replace(
  text: string,
  from: string,
  to: string,
  limit: number,
  { budget, guard }: StringContext,
): string {
  const found = guard.sought(from, text);
  const parts = from === '' ? ['', ...guard.characters(text), ''] : text.split(found);
  const count = limit < 0 ? parts.length - 1 : Math.min(limit, parts.length - 1);
  budget.checkString(text.length + count * (to.length - from.length));
  const replaced = [...parts.slice(0, count).flatMap((part) => [part, to]), parts.slice(count).join(found)];
  return guard.remade(replaced.join(''), replaced);
}

/** Letters in another case; `<|IM_END|>` of others must not become a control word by that. */
export function changeCase(text: string, change: (text: string) => string, { guard }: StringContext): string {
  return guard.remade(change(text), [text]);
}

export function capitalize(text: string): string {
  const [first = '', ...rest] = text;
  return first.toUpperCase() + rest.join('').toLowerCase();
}

export function title(text: string): string {
  return text.replace(/\p{Alphabetic}+/gu, capitalize);
}

function optionalString(value: Value | undefined, method: string): string | undefined {
  if (value === undefined || value instanceof NullValue) return undefined;
  if (value instanceof StringValue) return value.value;
  throw new Error(`${method}() takes a string, but got ${value.type}`);
}

function requiredString(value: Value | undefined, method: string): string {
  const text = optionalString(value, method);
  if (text === undefined) throw new Error(`${method}() needs a string`);
  return text;
}

function soughtString(value: Value | undefined, method: string, text: string, guard: TextGuard): string | undefined {
  const part = optionalString(value, method);
  return part === undefined ? undefined : guard.sought(part, text);
}

function limitOf(value: Value | undefined, method: string): number {
  if (value === undefined) return -1;
  if (value instanceof IntegerValue) return value.value;
  throw new Error(`${method}() takes a number as its limit, but got ${value.type}`);
}

/** `startswith` and `endswith` take one string or a tuple of them. */
function anyOf(value: Value | undefined, method: string): string[] {
  return value instanceof ArrayValue
    ? value.value.map((item) => requiredString(item, method))
    : [requiredString(value, method)];
}

/** Counted in characters. */
function indexIn(text: string, search: 'indexOf' | 'lastIndexOf', part: string): IntegerValue {
  const at = text[search](part);
  return new IntegerValue(at < 0 ? -1 : lengthOf(text.slice(0, at)));
}

export const upperCase = (text: string) => text.toUpperCase();
export const lowerCase = (text: string) => text.toLowerCase();

const every = (text: string, pattern: RegExp) => boolean(text !== '' && pattern.test(text));

/** The methods of Python's `str` that chat templates use, with Python's results. */
export const stringMethods: Readonly<Record<string, StringMethod>> = {
  strip: (text, [characters]) => string(strip(text, optionalString(characters, 'strip'), 'both')),
  lstrip: (text, [characters]) => string(strip(text, optionalString(characters, 'lstrip'), 'left')),
  rstrip: (text, [characters]) => string(strip(text, optionalString(characters, 'rstrip'), 'right')),
  split: (text, [separator, limit], named, { guard }) =>
    strings(
      split(
        text,
        soughtString(separator ?? named.get('sep'), 'split', text, guard),
        limitOf(limit ?? named.get('maxsplit'), 'split'),
      ),
    ),
  rsplit: (text, [separator, limit], named, { guard }) =>
    strings(
      rsplit(
        text,
        soughtString(separator ?? named.get('sep'), 'rsplit', text, guard),
        limitOf(limit ?? named.get('maxsplit'), 'rsplit'),
      ),
    ),
  splitlines: (text) =>
    strings(text === '' ? [] : text.replace(new RegExp(`(?:${lineBreak.source})$`), '').split(lineBreak)),
  partition: (text, [separator], _, { guard }) => {
    const sought = guard.sought(requiredString(separator, 'partition'), text);
    const at = text.indexOf(sought);
    const parts = at < 0 ? [text, '', ''] : [text.slice(0, at), sought, text.slice(at + sought.length)];
    return new TupleValue(parts.map(string));
  },
  replace: (text, [from, to, limit], named, context) =>
    string(
      replace(
        text,
        requiredString(from, 'replace'),
        requiredString(to, 'replace'),
        limitOf(limit ?? named.get('count'), 'replace'),
        context,
      ),
    ),
  startswith: (text, [prefix], _, { guard }) =>
    boolean(anyOf(prefix, 'startswith').some((start) => guard.plain(text).startsWith(guard.plain(start)))),
  endswith: (text, [suffix], _, { guard }) =>
    boolean(anyOf(suffix, 'endswith').some((end) => guard.plain(text).endsWith(guard.plain(end)))),
  removeprefix: (text, [prefix], _, { guard }) => {
    const start = guard.sought(requiredString(prefix, 'removeprefix'), text);
    return string(text.startsWith(start) ? text.slice(start.length) : text);
  },
  removesuffix: (text, [suffix], _, { guard }) => {
    const end = guard.sought(requiredString(suffix, 'removesuffix'), text);
    return string(end !== '' && text.endsWith(end) ? text.slice(0, -end.length) : text);
  },
  upper: (text, _, __, context) => string(changeCase(text, upperCase, context)),
  lower: (text, _, __, context) => string(changeCase(text, lowerCase, context)),
  title: (text, _, __, context) => string(changeCase(text, title, context)),
  capitalize: (text, _, __, context) => string(changeCase(text, capitalize, context)),
  find: (text, [part], _, { guard }) =>
    indexIn(guard.plain(text), 'indexOf', guard.plain(requiredString(part, 'find'))),
  rfind: (text, [part], _, { guard }) =>
    indexIn(guard.plain(text), 'lastIndexOf', guard.plain(requiredString(part, 'rfind'))),
  count: (text, [part], _, { guard }) =>
    new IntegerValue(replaceCount(guard.plain(text), guard.plain(requiredString(part, 'count')))),
  join: (text, [items], _, { budget }) => {
    if (!(items instanceof ArrayValue)) throw new Error('join() needs a list');
    const parts = items.value.map((item) => requiredString(item, 'join'));
    budget.checkString(parts.reduce((length, part) => length + part.length + text.length, 0));
    return string(parts.join(text));
  },
  isdigit: (text) => every(text, /^\p{Nd}+$/u),
  isalpha: (text) => every(text, /^\p{L}+$/u),
  isalnum: (text) => every(text, /^[\p{L}\p{N}]+$/u),
  isspace: (text) => every(text, new RegExp(`^(?:${blank.source})+$`)),
  isupper: (text) => boolean(text !== text.toLowerCase() && text === text.toUpperCase()),
  islower: (text) => boolean(text !== text.toUpperCase() && text === text.toLowerCase()),
};

function replaceCount(text: string, part: string): number {
  return part === '' ? lengthOf(text) + 1 : text.split(part).length - 1;
}

/** Splits what the library calls a function with: the named arguments come as one last value. */
export function readArguments(args: readonly Value[]): { positional: Value[]; named: ReadonlyMap<string, Value> } {
  const last = args.at(-1);
  if (!isKeywordArguments(last)) return { positional: [...args], named: new Map() };
  return { positional: args.slice(0, -1), named: last.value };
}
