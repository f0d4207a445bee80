import { ExactInteger } from './exact-values.ts';
import {
  ArrayValue,
  BooleanValue,
  FloatValue,
  IntegerValue,
  NullValue,
  ObjectValue,
  StringValue,
  TupleValue,
  UndefinedValue,
  type Value,
} from './runtime-values.ts';
import { compareCodePoints } from './to-json.ts';

/** Numbers and booleans compare by value in Python; anything else is no number. */
function numberOf(value: Value): number | undefined {
  if (value instanceof IntegerValue || value instanceof FloatValue) return value.value;
  return value instanceof BooleanValue ? Number(value.value) : undefined;
}

/** `==` of Python. The library's is JavaScript's, for which `'' == 0` and `none == undefined`, and no two lists are equal. */
export function areEqual(left: Value, right: Value): boolean {
  const a = numberOf(left);
  const b = numberOf(right);
  if (left instanceof ExactInteger && right instanceof ExactInteger) return left.digits === right.digits;
  if (a !== undefined || b !== undefined) return a === b;
  if (left instanceof StringValue && right instanceof StringValue) return left.value === right.value;
  if (left instanceof NullValue) return right instanceof NullValue;
  if (left instanceof UndefinedValue) return right instanceof UndefinedValue;
  if (left instanceof ArrayValue && right instanceof ArrayValue) {
    if (left instanceof TupleValue !== right instanceof TupleValue) return false;
    if (left.value.length !== right.value.length) return false;
    return left.value.every((item, index) => areEqual(item, right.value[index] as Value));
  }
  if (left instanceof ObjectValue && right instanceof ObjectValue) {
    if (left.value.size !== right.value.size) return false;
    return [...left.value].every(([key, item]) => {
      const other = right.value.get(key);
      return other !== undefined && areEqual(item, other);
    });
  }
  return left === right;
}

/** `needle in container` of Python, or `undefined` when the container is none. Nothing is in what is undefined. */
export function isIn(needle: Value, container: Value): boolean | undefined {
  if (container instanceof UndefinedValue) return false;
  if (container instanceof ArrayValue) return container.value.some((item) => areEqual(item, needle));
  if (container instanceof ObjectValue) return needle instanceof StringValue && container.value.has(needle.value);
  if (container instanceof StringValue && needle instanceof StringValue) return container.value.includes(needle.value);
  return undefined;
}

/** Negative, zero or positive like `left - right`; `undefined` when Python would not compare the two. */
export function compare(left: Value, right: Value): number | undefined {
  const a = numberOf(left);
  const b = numberOf(right);
  if (a !== undefined && b !== undefined) return a - b;
  if (left instanceof StringValue && right instanceof StringValue) return compareCodePoints(left.value, right.value);
  return undefined;
}
