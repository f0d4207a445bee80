import { areEqual, compare, isIn } from './python-compare.ts';
import {
  ArrayValue,
  BooleanValue,
  FloatValue,
  FunctionValue,
  IntegerValue,
  NullValue,
  ObjectValue,
  StringValue,
  UndefinedValue,
  type Value,
} from './runtime-values.ts';

type Test = (operand: Value, argument: Value | undefined) => boolean;

const equal: Test = (operand, argument) => argument !== undefined && areEqual(operand, argument);
const ordered =
  (holds: (difference: number) => boolean): Test =>
  (operand, argument) => {
    const difference = argument === undefined ? undefined : compare(operand, argument);
    if (difference === undefined) throw new Error(`${operand.type} and ${argument?.type} cannot be compared`);
    return holds(difference);
  };

/** Jinja's tests (`x is string`), those with an argument for `selectattr` and `select`. */
export const tests: Readonly<Record<string, Test>> = {
  defined: (operand) => !(operand instanceof UndefinedValue),
  undefined: (operand) => operand instanceof UndefinedValue,
  none: (operand) => operand instanceof NullValue,
  boolean: (operand) => operand instanceof BooleanValue,
  true: (operand) => operand instanceof BooleanValue && operand.value,
  false: (operand) => operand instanceof BooleanValue && !operand.value,
  string: (operand) => operand instanceof StringValue,
  // Python counts booleans as numbers here, but not as integers.
  number: (operand) =>
    operand instanceof IntegerValue || operand instanceof FloatValue || operand instanceof BooleanValue,
  integer: (operand) => operand instanceof IntegerValue,
  float: (operand) => operand instanceof FloatValue,
  mapping: (operand) => operand instanceof ObjectValue,
  sequence: (operand) =>
    operand instanceof ArrayValue ||
    operand instanceof ObjectValue ||
    operand instanceof StringValue ||
    operand instanceof UndefinedValue,
  iterable: (operand) =>
    operand instanceof ArrayValue ||
    operand instanceof ObjectValue ||
    operand instanceof StringValue ||
    operand instanceof UndefinedValue,
  callable: (operand) => operand instanceof FunctionValue,
  odd: (operand) => Math.abs(Number(operand.value) % 2) === 1,
  even: (operand) => Number(operand.value) % 2 === 0,
  divisibleby: (operand, argument) => Number(operand.value) % Number(argument?.value) === 0,
  upper: (operand) =>
    operand instanceof StringValue &&
    operand.value !== operand.value.toLowerCase() &&
    operand.value === operand.value.toUpperCase(),
  lower: (operand) =>
    operand instanceof StringValue &&
    operand.value !== operand.value.toUpperCase() &&
    operand.value === operand.value.toLowerCase(),
  eq: equal,
  equalto: equal,
  '==': equal,
  ne: (operand, argument) => !equal(operand, argument),
  '!=': (operand, argument) => !equal(operand, argument),
  in: (operand, argument) => argument !== undefined && isIn(operand, argument) === true,
  lt: ordered((difference) => difference < 0),
  le: ordered((difference) => difference <= 0),
  gt: ordered((difference) => difference > 0),
  ge: ordered((difference) => difference >= 0),
};
