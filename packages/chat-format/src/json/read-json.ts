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
import { buildJson } from './json-reader.ts';
import { maxJsonDepth } from './write-json.ts';

/**
 * Reads JSON into the values of a template, as Python's `json.loads` would: `1.0` is a float and `1` an integer of any
 * size. The texts of all strings, keys too, pass through `onString`.
 *
 * @throws InvalidArgumentError when the text is no JSON or nests too deep; the message begins with `place`
 */
export function readJson(text: string, place: string, onString: (text: string) => string = (same) => same): Value {
  return buildJson<Value>(
    text,
    {
      object: (members) => new ObjectValue(members),
      list: (items) => new ArrayValue(items),
      string: (string) => new StringValue(onString(string)),
      number: readNumber,
      constant: (value) => (value === null ? new NullValue(null) : new BooleanValue(value)),
      key: onString,
    },
    { place, maxDepth: maxJsonDepth, equalKeys: 'last' },
  );
}

function readNumber(text: string, isInteger: boolean): Value {
  const value = Number(text);
  if (!isInteger) return new FloatValue(value);
  return Number.isSafeInteger(value) ? new IntegerValue(value + 0) : new ExactInteger(text);
}
