import type { Environment } from '@huggingface/jinja';
import type { Budget } from './budget.ts';
import { itemsOf } from './filters.ts';
import {
  type ArrayValue,
  BooleanValue,
  FunctionValue,
  type Identifier,
  IntegerValue,
  ObjectValue,
  type Statement,
  UndefinedValue,
  type Value,
} from './runtime-values.ts';

/** Sets a variable of a scope. */
export function assign(scope: Environment, name: string, value: Value): void {
  // Our values are the library's; only its types are narrower.
  scope.setVariable(name, value as never);
}

/** Gives an item to the loop variable, or its parts to several: `for key, value in pairs`. */
export function bind(target: Statement, item: Value, scope: Environment, budget: Budget): void {
  if (target.type === 'Identifier') {
    assign(scope, (target as Identifier).value, item);
    return;
  }
  if (target.type !== 'TupleLiteral') throw new Error(`A loop variable cannot be a ${target.type}.`);
  const targets = (target as unknown as ArrayValue).value as unknown as Statement[];
  const parts = itemsOf(item, budget);
  if (parts.length !== targets.length) {
    throw new Error(`${parts.length} values cannot be given to ${targets.length} loop variables.`);
  }
  targets.forEach((part, index) => {
    bind(part, parts[index] as Value, scope, budget);
  });
}

/** The variable `loop` in the turn of one item. */
export function loopVariable(items: readonly Value[], index: number): Value {
  const { length } = items;
  const fields: Record<string, Value> = {
    index: new IntegerValue(index + 1),
    index0: new IntegerValue(index),
    revindex: new IntegerValue(length - index),
    revindex0: new IntegerValue(length - index - 1),
    first: new BooleanValue(index === 0),
    last: new BooleanValue(index === length - 1),
    length: new IntegerValue(length),
    previtem: items[index - 1] ?? new UndefinedValue(),
    nextitem: items[index + 1] ?? new UndefinedValue(),
    // Depth of recursive loops, which there are none of.
    depth: new IntegerValue(1),
    depth0: new IntegerValue(0),
    cycle: new FunctionValue((args) => args[index % args.length] ?? new UndefinedValue()),
  };
  return new ObjectValue(new Map(Object.entries(fields)));
}
