import { Environment } from '@huggingface/jinja';
import { TemplateError } from '../chat-format-errors.ts';
import type { Budget } from './budget.ts';
import { assign } from './loop.ts';
import { readArguments } from './python-strings.ts';
import { pythonStr } from './python-text.ts';
import {
  ArrayValue,
  BooleanValue,
  FunctionValue,
  IntegerValue,
  NullValue,
  ObjectValue,
  StringValue,
  type Value,
} from './runtime-values.ts';
import { strftime } from './strftime.ts';

/** The names that every chat template finds, as Transformers defines them, and the variables of one render. */
export function createEnvironment(variables: ReadonlyMap<string, Value>, now: Date, budget: Budget): Environment {
  const environment = new Environment(); // has `namespace`
  const names: Record<string, Value> = {
    true: new BooleanValue(true),
    True: new BooleanValue(true),
    false: new BooleanValue(false),
    False: new BooleanValue(false),
    none: new NullValue(null),
    None: new NullValue(null),
    range: new FunctionValue((args) => range(args, budget)),
    dict: new FunctionValue((args) => new ObjectValue(new Map(readArguments(args).named))),
    strftime_now: new FunctionValue(([format]) => new StringValue(strftime(now, textOf(format, budget)))),
    raise_exception: new FunctionValue(([message]) => {
      const text = textOf(message, budget);
      throw new TemplateError(text, { details: { raisedByTemplate: true } });
    }),
  };
  for (const [name, value] of Object.entries(names)) assign(environment, name, value);
  for (const [name, value] of variables) assign(environment, name, value);
  return environment;
}

/** `range(stop)`, `range(start, stop)`, `range(start, stop, step)`, counted before it is made. */
function range(args: readonly Value[], budget: Budget): Value {
  const numbers = args.map((value) => {
    if (value instanceof IntegerValue) return value.value;
    throw new Error('range() takes whole numbers');
  });
  const [start, stop, step] =
    numbers.length === 1 ? [0, numbers[0] as number, 1] : [numbers[0] ?? 0, numbers[1] ?? 0, numbers[2] ?? 1];
  if (step === 0) throw new Error('range() needs a step other than 0');
  const count = Math.max(0, Math.ceil((stop - start) / step));
  budget.checkItems(count);
  return new ArrayValue(Array.from({ length: count }, (_, index) => new IntegerValue(start + index * step)));
}

function textOf(value: Value | undefined, budget: Budget): string {
  return value === undefined ? '' : pythonStr(value, budget);
}
