import type { Budget } from './budget.ts';
import { ExactInteger, JsonTextObject } from './exact-values.ts';
import {
  ArrayValue,
  BooleanValue,
  FloatValue,
  IntegerValue,
  isNamespace,
  NullValue,
  ObjectValue,
  StringValue,
  TupleValue,
  UndefinedValue,
  type Value,
} from './runtime-values.ts';

/** `str(value)` of Python: what `{{ value }}` prints. Undefined prints nothing. */
export function pythonStr(value: Value, budget: Budget): string {
  if (value instanceof StringValue) return value.value;
  if (value instanceof UndefinedValue) return '';
  if (value instanceof JsonTextObject) return value.text;
  return pythonRepr(value, budget);
}

/** `repr(value)` of Python: how a value stands within a printed list. */
function pythonRepr(value: Value, budget: Budget): string {
  if (value instanceof StringValue) return quote(value.value);
  if (value instanceof NullValue) return 'None';
  if (value instanceof UndefinedValue) return 'Undefined';
  if (value instanceof BooleanValue) return value.value ? 'True' : 'False';
  if (value instanceof ExactInteger) return value.digits;
  if (value instanceof IntegerValue) return integerDigits(value.value);
  if (value instanceof FloatValue) return pythonFloat(value.value);
  if (value instanceof ArrayValue) {
    const isTuple = value instanceof TupleValue;
    const items = join(value.value, (item) => pythonRepr(item, budget), budget);
    if (isTuple) return value.value.length === 1 ? `(${items},)` : `(${items})`;
    return `[${items}]`;
  }
  if (value instanceof ObjectValue || isNamespace(value)) {
    const members = [...value.value];
    const text = join(members, ([key, item]) => `${quote(key)}: ${pythonRepr(item, budget)}`, budget);
    return isNamespace(value) ? `<Namespace {${text}}>` : `{${text}}`;
  }
  return String(value);
}

/** Joins with `, `, and stops as soon as the text gets too long: shared parts can make it grow exponentially. */
function join<T>(items: readonly T[], show: (item: T) => string, budget: Budget): string {
  let text = '';
  for (const item of items) {
    text += text === '' ? show(item) : `, ${show(item)}`;
    budget.checkString(text.length);
  }
  return text;
}

/** Digits of an integer, also above 10^21 where JavaScript writes an exponent. */
function integerDigits(value: number): string {
  return Number.isFinite(value) ? BigInt(value).toString() : pythonFloat(value);
}

/**
 * `repr(float)`: the shortest digits that give the number back, as in JavaScript, but with a decimal point at least and
 * an exponent (of two digits or more) below 10^-4 and from 10^16 on.
 */
export function pythonFloat(value: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  if (Object.is(value, -0)) return '-0.0';
  const [mantissa, exponentText] = value.toExponential().split('e') as [string, string];
  const exponent = Number(exponentText);
  if (exponent >= -4 && exponent < 16) {
    const text = plainDigits(mantissa, exponent);
    return text.includes('.') ? text : `${text}.0`;
  }
  return `${mantissa}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;
}

/** Writes `d.ddd × 10^exponent` without an exponent. */
function plainDigits(mantissa: string, exponent: number): string {
  const sign = mantissa.startsWith('-') ? '-' : '';
  const digits = mantissa.replace(/[-.]/g, '');
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`;
  if (digits.length <= exponent + 1) return sign + digits.padEnd(exponent + 1, '0');
  return `${sign}${digits.slice(0, exponent + 1)}.${digits.slice(exponent + 1)}`;
}

const escapes: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '\\': '\\\\' };
/**
 * Characters that Python's repr does not print as they are. U+FDD0 to U+FDEF are left out, because one of them marks
 * control words and is taken out again (control-words.ts).
 */
const unprintable = /(?![\ufdd0-\ufdef])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]|(?! )\p{Zs}|\\/gu;

function quote(text: string): string {
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text.replace(unprintable, (character) => escapes[character] ?? hexEscape(character));
  return `${mark}${mark === "'" ? escaped.replaceAll("'", "\\'") : escaped}${mark}`;
}

function hexEscape(character: string): string {
  const code = character.codePointAt(0) as number;
  if (code <= 0xff) return `\\x${code.toString(16).padStart(2, '0')}`;
  if (code <= 0xffff) return `\\u${code.toString(16).padStart(4, '0')}`;
  return `\\U${code.toString(16).padStart(8, '0')}`;
}
