import type { Budget } from './budget.ts';
import { areEqual, compare } from './python-compare.ts';
import {
  capitalize,
  changeCase,
  lengthOf,
  lowerCase,
  replace,
  type StringContext,
  strip,
  title,
  upperCase,
} from './python-strings.ts';
import { pythonStr } from './python-text.ts';
import {
  ArrayValue,
  BooleanValue,
  FloatValue,
  IntegerValue,
  ObjectValue,
  StringValue,
  TupleValue,
  UndefinedValue,
  type Value,
} from './runtime-values.ts';
import { toJson } from './to-json.ts';

/** What a filter may use besides its operand. */
export interface FilterContext extends StringContext {
  /** Runs another filter by name, for `map`. */
  filter(name: string, operand: Value): Value;
  /** Runs a test by name, for `select` and `reject`. */
  test(name: string, operand: Value, argument: Value | undefined): boolean;
}

type Filter = (
  operand: Value,
  args: readonly Value[],
  named: ReadonlyMap<string, Value>,
  context: FilterContext,
) => Value;

const string = (text: string) => new StringValue(text);
const textOf = (value: Value, { budget }: FilterContext) => pythonStr(value, budget);

/** Items as a `for` loop sees them: of lists, characters of strings, keys of mappings, nothing of undefined. */
export function itemsOf(value: Value, budget: Budget): Value[] {
  if (value instanceof ArrayValue) return value.value;
  if (value instanceof StringValue) {
    budget.checkItems(value.value.length);
    return Array.from(value.value, string);
  }
  if (value instanceof ObjectValue) return [...value.value.keys()].map(string);
  if (value instanceof UndefinedValue) return [];
  throw new Error(`'${value.type}' object is not iterable`);
}

function attributeOf(value: Value, path: Value): Value {
  const steps = path instanceof StringValue ? path.value.split('.') : [String(path.value)];
  return steps.reduce<Value>((sofar, step) => {
    if (sofar instanceof ObjectValue) return sofar.value.get(step) ?? new UndefinedValue();
    if (sofar instanceof ArrayValue) return sofar.value[Number(step)] ?? new UndefinedValue();
    return new UndefinedValue();
  }, value);
}

function tojson(
  operand: Value,
  args: readonly Value[],
  named: ReadonlyMap<string, Value>,
  context: FilterContext,
): Value {
  // The order of the parameters is that of Transformers' own filter.
  const argument = (name: string, position: number) => args[position] ?? named.get(name);
  const indent = argument('indent', 1);
  const separators = argument('separators', 2);
  const pair = separators instanceof ArrayValue ? separators.value.map((item) => textOf(item, context)) : undefined;
  if (pair !== undefined && pair.length !== 2) throw new Error('tojson: separators must be two strings');
  const options = {
    indent: indent instanceof IntegerValue || indent instanceof StringValue ? indent.value : undefined,
    separators: pair as [string, string] | undefined,
    ensureAscii: argument('ensure_ascii', 0)?.__bool__().value ?? false,
    sortKeys: argument('sort_keys', 3)?.__bool__().value ?? false,
  };
  return string(toJson(operand, options, context.budget));
}

function join(
  operand: Value,
  args: readonly Value[],
  named: ReadonlyMap<string, Value>,
  context: FilterContext,
): Value {
  const attribute = args[1] ?? named.get('attribute');
  const items = itemsOf(operand, context.budget).map((item) =>
    attribute === undefined ? item : attributeOf(item, attribute),
  );
  const separator = args[0] ?? named.get('d');
  const between = separator === undefined ? '' : textOf(separator, context);
  let text = '';
  items.forEach((item, index) => {
    text += (index === 0 ? '' : between) + textOf(item, context);
    context.budget.checkString(text.length);
  });
  return string(text);
}

function indent(
  operand: Value,
  args: readonly Value[],
  named: ReadonlyMap<string, Value>,
  context: FilterContext,
): Value {
  const width = args[0] ?? named.get('width') ?? new IntegerValue(4);
  const first = (args[1] ?? named.get('first'))?.__bool__().value ?? false;
  const blank = (args[2] ?? named.get('blank'))?.__bool__().value ?? false;
  const lines = textOf(operand, context).split('\n');
  const size = width instanceof StringValue ? width.value.length : Number(width.value);
  context.budget.checkString(size * lines.length);
  const margin = width instanceof StringValue ? width.value : ' '.repeat(Math.max(size, 0));
  const indented = lines.map((line, index) => ((index === 0 ? first : line !== '' || blank) ? margin + line : line));
  return string(indented.join('\n'));
}

function selectBy(wanted: boolean): Filter {
  return (operand, [name, argument], _, context) => {
    const test = name instanceof StringValue ? name.value : undefined;
    const holds = (item: Value) => (test === undefined ? item.__bool__().value : context.test(test, item, argument));
    return new ArrayValue(itemsOf(operand, context.budget).filter((item) => holds(item) === wanted));
  };
}

function selectByAttribute(wanted: boolean): Filter {
  return (operand, [attribute, name, argument], _, context) => {
    if (attribute === undefined) throw new Error('selectattr and rejectattr need the name of an attribute');
    const test = name instanceof StringValue ? name.value : undefined;
    const holds = (item: Value) => {
      const value = attributeOf(item, attribute);
      return test === undefined ? value.__bool__().value : context.test(test, value, argument);
    };
    return new ArrayValue(itemsOf(operand, context.budget).filter((item) => holds(item) === wanted));
  };
}

const map: Filter = (operand, [name, ...rest], named, context) => {
  const attribute = named.get('attribute');
  const items = itemsOf(operand, context.budget);
  if (attribute !== undefined) {
    const byDefault = named.get('default');
    return new ArrayValue(
      items.map((item) => {
        const value = attributeOf(item, attribute);
        return value instanceof UndefinedValue ? (byDefault ?? value) : value;
      }),
    );
  }
  if (!(name instanceof StringValue) || rest.length > 0)
    throw new Error('map needs the name of a filter or an attribute');
  return new ArrayValue(items.map((item) => context.filter(name.value, item)));
};

function dictsort(operand: Value, args: readonly Value[], named: ReadonlyMap<string, Value>): Value {
  if (!(operand instanceof ObjectValue)) throw new Error('dictsort can only be taken of a mapping');
  const caseSensitive = (args[0] ?? named.get('case_sensitive'))?.__bool__().value ?? false;
  const byValue = (args[1] ?? named.get('by'))?.value === 'value';
  const sign = ((args[2] ?? named.get('reverse'))?.__bool__().value ?? false) ? -1 : 1;
  const keyOf = ([key, value]: [string, Value]): Value => {
    const sorted = byValue ? value : string(key);
    return sorted instanceof StringValue && !caseSensitive ? string(sorted.value.toLowerCase()) : sorted;
  };
  const entries = [...operand.value].sort((a, b) => {
    const difference = compare(keyOf(a), keyOf(b));
    if (difference === undefined) throw new Error('dictsort: the values cannot be compared');
    return sign * difference;
  });
  return new ArrayValue(entries.map(([key, value]) => new TupleValue([string(key), value])));
}

/** Strings that differ in case only count as equal, as in Jinja. */
function unique(operand: Value, context: FilterContext): Value {
  const fold = (value: Value) => (value instanceof StringValue ? string(value.value.toLowerCase()) : value);
  const seen: Value[] = [];
  const items = itemsOf(operand, context.budget).filter((item) => {
    const folded = fold(item);
    if (seen.some((other) => areEqual(other, folded))) return false;
    seen.push(folded);
    return true;
  });
  return new ArrayValue(items);
}

function length(operand: Value, _args: unknown, _named: unknown, { guard }: FilterContext): Value {
  if (operand instanceof StringValue) return new IntegerValue(lengthOf(guard.plain(operand.value)));
  if (operand instanceof ArrayValue) return new IntegerValue(operand.value.length);
  if (operand instanceof ObjectValue) return new IntegerValue(operand.value.size);
  if (operand instanceof UndefinedValue) return new IntegerValue(0);
  throw new Error(`'${operand.type}' has no length`);
}

function toInteger(operand: Value, [byDefault]: readonly Value[]): Value {
  if (operand instanceof IntegerValue) return operand;
  if (operand instanceof FloatValue) return new IntegerValue(Math.trunc(operand.value));
  if (operand instanceof BooleanValue) return new IntegerValue(Number(operand.value));
  const number = operand instanceof StringValue ? /^\s*[-+]?\d+(?:\.\d*)?\s*$/.exec(operand.value) : null;
  return number === null ? (byDefault ?? new IntegerValue(0)) : new IntegerValue(Math.trunc(Number(number[0])));
}

const byDefault: Filter = (operand, args, named) => {
  const value = args[0] ?? named.get('default_value') ?? string('');
  const falseToo = (args[1] ?? named.get('boolean'))?.__bool__().value ?? false;
  return operand instanceof UndefinedValue || (falseToo && !operand.__bool__().value) ? value : operand;
};

const onText =
  (change: (text: string, context: FilterContext) => string): Filter =>
  (operand, _args, _named, context) =>
    string(change(textOf(operand, context), context));

/** Filters whose results in the library are not Jinja's, and some that it lacks. The rest are the library's own. */
export const filters: Readonly<Record<string, Filter>> = {
  tojson,
  join,
  indent,
  map,
  length,
  count: length,
  string: onText((text) => text),
  safe: (operand) => operand,
  trim: (operand, [characters], _, context) =>
    string(strip(textOf(operand, context), characters instanceof StringValue ? characters.value : undefined, 'both')),
  upper: onText((text, context) => changeCase(text, upperCase, context)),
  lower: onText((text, context) => changeCase(text, lowerCase, context)),
  capitalize: onText((text, context) => changeCase(text, capitalize, context)),
  title: onText((text, context) => changeCase(text, title, context)),
  replace: (operand, [from, to, limit], named, context) => {
    if (from === undefined || to === undefined) throw new Error('replace needs two strings');
    const count = limit ?? named.get('count');
    const times = count instanceof IntegerValue ? count.value : -1;
    return string(replace(textOf(operand, context), textOf(from, context), textOf(to, context), times, context));
  },
  list: (operand, _args, _named, { budget }) => new ArrayValue([...itemsOf(operand, budget)]),
  first: (operand, _args, _named, { budget }) => itemsOf(operand, budget)[0] ?? new UndefinedValue(),
  last: (operand, _args, _named, { budget }) => itemsOf(operand, budget).at(-1) ?? new UndefinedValue(),
  reverse: (operand, _args, _named, { budget }) =>
    operand instanceof StringValue
      ? string(Array.from(operand.value).reverse().join(''))
      : new ArrayValue([...itemsOf(operand, budget)].reverse()),
  unique: (operand, _args, _named, context) => unique(operand, context),
  items: (operand) => {
    if (operand instanceof UndefinedValue) return new ArrayValue([]);
    if (!(operand instanceof ObjectValue)) throw new Error('items can only be taken of a mapping');
    return new ArrayValue([...operand.value].map(([key, value]) => new TupleValue([string(key), value])));
  },
  dictsort,
  int: toInteger,
  default: byDefault,
  d: byDefault,
  select: selectBy(true),
  reject: selectBy(false),
  selectattr: selectByAttribute(true),
  rejectattr: selectByAttribute(false),
};
