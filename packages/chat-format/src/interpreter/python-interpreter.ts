import { Environment } from '@huggingface/jinja';
import type { Budget } from './budget.ts';
import { JsonTextObject } from './exact-values.ts';
import { type FilterContext, filters, itemsOf } from './filters.ts';
import { assign, bind, loopVariable } from './loop.ts';
import { areEqual, compare, isIn } from './python-compare.ts';
import { readArguments, sliceText, stringMethods } from './python-strings.ts';
import { pythonStr } from './python-text.ts';
import {
  ArrayValue,
  type BinaryExpression,
  BooleanValue,
  BreakControl,
  type CallExpression,
  ContinueControl,
  FloatValue,
  type For,
  FunctionValue,
  type Identifier,
  IntegerValue,
  LibraryInterpreter,
  type MemberExpression,
  NullValue,
  ObjectValue,
  type SelectExpression,
  type SliceExpression,
  type Statement,
  StringValue,
  type TestExpression,
  UndefinedValue,
  type Value,
} from './runtime-values.ts';
import { tests } from './tests.ts';
import type { TextGuard } from './text-guard.ts';

/** Statements that print nothing; everything else that stands in a block is printed. */
const silentStatements = new Set(['Set', 'Macro', 'Comment']);

/** A `{% break %}` or `{% continue %}` on its way out of its loop, with what the blocks around it had printed. */
interface LoopControl extends Error {
  printed?: string;
}

/**
 * The library's interpreter with the results of Python's Jinja2 where they differ: what is printed (`True`, `None`, lists),
 * variables that end with their turn of a loop, equality, string methods, filters and tests. And nothing that a template
 * builds grows beyond the budget.
 */
export class PythonInterpreter extends LibraryInterpreter {
  readonly #budget: Budget;
  readonly #guard: TextGuard;
  readonly #context: FilterContext;

  constructor(environment: Environment, budget: Budget, guard: TextGuard) {
    super(environment);
    this.#budget = budget;
    this.#guard = guard;
    this.#context = {
      budget,
      guard,
      filter: (name, operand) => this.applyFilter(operand, { type: 'Identifier', value: name }, environment),
      test: (name, operand, argument) => runTest(name, operand, argument),
    };
  }

  override evaluate(statement: Statement | undefined, environment: Environment): Value {
    if (statement?.type === 'HeldValue') return (statement as HeldValue).held;
    const value = super.evaluate(statement, environment);
    if (value instanceof StringValue) this.#budget.checkString(value.value.length);
    else if (value instanceof ArrayValue) this.#budget.checkItems(value.value.length);
    return value;
  }

  override evaluateBlock(statements: Statement[], environment: Environment): StringValue {
    this.#budget.enterBlock();
    try {
      return this.#printBlock(statements, environment);
    } finally {
      this.#budget.leaveBlock();
    }
  }

  #printBlock(statements: Statement[], environment: Environment): StringValue {
    let text = '';
    for (const statement of statements) {
      try {
        const value = this.evaluate(statement, environment);
        if (!silentStatements.has(statement.type)) text += pythonStr(value, this.#budget);
      } catch (error) {
        if (isLoopControl(error)) error.printed = text + (error.printed ?? '');
        throw error;
      }
      this.#budget.checkString(text.length);
    }
    return new StringValue(text);
  }

  /** Each turn has a scope of its own, as in Jinja2; the library keeps one for the whole loop. */
  override evaluateFor(node: For, environment: Environment): StringValue {
    const items = this.#loopItems(node, environment);
    if (items.length === 0) return this.evaluateBlock(node.defaultBlock, new Environment(environment));
    let text = '';
    for (const [index, item] of items.entries()) {
      const scope = new Environment(environment);
      assign(scope, 'loop', loopVariable(items, index));
      bind(node.loopvar, item, scope, this.#budget);
      try {
        text += this.evaluateBlock(node.body, scope).value;
      } catch (error) {
        if (!isLoopControl(error)) throw error;
        text += error.printed ?? '';
        if (error instanceof BreakControl) break;
      }
      this.#budget.checkString(text.length);
    }
    return new StringValue(text);
  }

  #loopItems(node: For, environment: Environment): Value[] {
    if (node.iterable.type !== 'SelectExpression')
      return itemsOf(this.evaluate(node.iterable, environment), this.#budget);
    // `for item in list if condition`
    const select = node.iterable as SelectExpression;
    return itemsOf(this.evaluate(select.lhs, environment), this.#budget).filter((item) => {
      const scope = new Environment(environment);
      bind(node.loopvar, item, scope, this.#budget);
      return this.evaluate(select.test, scope).__bool__().value;
    });
  }

  /** The library finds out by an exception that a name is undefined, and takes a full stack for one as well. */
  override evaluateIdentifier(node: Identifier, environment: Environment): Value {
    for (let scope: Environment | undefined = environment; scope !== undefined; scope = scope.parent) {
      const value = scope.variables.get(node.value);
      if (value !== undefined) return value;
    }
    return new UndefinedValue();
  }

  /** `object.name`: methods of strings and mappings come before keys, as attributes do in Jinja2. */
  override evaluateMemberExpression(node: MemberExpression, environment: Environment): Value {
    const object = this.evaluate(node.object, environment);
    if (node.property.type === 'SliceExpression' && object instanceof StringValue) {
      return this.#slice(object.value, node.property as SliceExpression, environment);
    }
    // The object is evaluated already, so it is passed on as a value.
    if (node.computed || node.property.type !== 'Identifier') {
      return super.evaluateMemberExpression({ ...node, object: hold(object) }, environment);
    }
    const name = (node.property as Identifier).value;
    if (object instanceof StringValue) return this.#stringMethod(object.value, name) ?? new UndefinedValue();
    if (object instanceof ObjectValue)
      return this.#mappingMethod(object, name) ?? object.value.get(name) ?? new UndefinedValue();
    return super.evaluateMemberExpression({ ...node, object: hold(object) }, environment);
  }

  #slice(text: string, node: SliceExpression, environment: Environment): Value {
    const [start, stop, step] = [node.start, node.stop, node.step].map((part) => {
      const value = this.evaluate(part, environment);
      if (value instanceof IntegerValue) return value.value;
      if (value instanceof UndefinedValue || value instanceof NullValue) return undefined;
      throw new Error(`A string cannot be cut at a ${value.type}.`);
    });
    if (step === 0) throw new Error('slice step cannot be zero');
    return new StringValue(sliceText(text, start, stop, step ?? 1, this.#guard));
  }

  #stringMethod(text: string, name: string): Value | undefined {
    const method = Object.hasOwn(stringMethods, name) ? stringMethods[name] : undefined;
    if (method === undefined) return undefined;
    return new FunctionValue((args) => {
      const { positional, named } = readArguments(args);
      return method(text, positional, named, this.#context);
    });
  }

  #mappingMethod(object: ObjectValue, name: string): Value | undefined {
    switch (name) {
      case 'items':
        return new FunctionValue(() =>
          this.applyFilter(object, { type: 'Identifier', value: 'items' }, new Environment()),
        );
      case 'keys':
        return new FunctionValue(() => new ArrayValue([...object.value.keys()].map((key) => new StringValue(key))));
      case 'values':
        return new FunctionValue(() => new ArrayValue([...object.value.values()]));
      case 'get':
        return object.builtins.get('get');
      default:
        return undefined;
    }
  }

  override evaluateBinaryExpression(node: BinaryExpression, environment: Environment): Value {
    const operator = node.operator.value;
    if (operator === 'and' || operator === 'or') return super.evaluateBinaryExpression(node, environment);
    const left = this.evaluate(node.left, environment);
    const right = this.evaluate(node.right, environment);
    const value = this.#operate(operator, left, right);
    if (value !== undefined) return value;
    return super.evaluateBinaryExpression({ ...node, left: hold(left), right: hold(right) }, environment);
  }

  /** Operators whose results in the library are not Python's; `undefined` leaves the rest to it. */
  #operate(operator: string, left: Value, right: Value): Value | undefined {
    const difference = operator.startsWith('<') || operator.startsWith('>') ? compare(left, right) : undefined;
    const membership = operator.endsWith('in') ? this.#isIn(left, right) : undefined;
    switch (operator) {
      case '==':
        return new BooleanValue(areEqual(this.#plain(left), this.#plain(right)));
      case '!=':
        return new BooleanValue(!areEqual(this.#plain(left), this.#plain(right)));
      case 'in':
        return membership === undefined ? undefined : new BooleanValue(membership);
      case 'not in':
        return membership === undefined ? undefined : new BooleanValue(!membership);
      case '<':
        return difference === undefined ? undefined : new BooleanValue(difference < 0);
      case '<=':
        return difference === undefined ? undefined : new BooleanValue(difference <= 0);
      case '>':
        return difference === undefined ? undefined : new BooleanValue(difference > 0);
      case '>=':
        return difference === undefined ? undefined : new BooleanValue(difference >= 0);
      case '~':
        return new StringValue(pythonStr(left, this.#budget) + pythonStr(right, this.#budget));
      case '+':
        return concatenate(left, right);
      case '*':
        return this.#repeat(left, right) ?? this.#repeat(right, left);
      case '%':
        return modulo(left, right);
      default:
        return undefined;
    }
  }

  #isIn(needle: Value, container: Value): boolean | undefined {
    return container instanceof StringValue
      ? isIn(this.#plain(needle), this.#plain(container))
      : isIn(needle, container);
  }

  #plain(value: Value): Value {
    return value instanceof StringValue ? new StringValue(this.#guard.plain(value.value)) : value;
  }

  /** `'ab' * 3`. */
  #repeat(text: Value, times: Value): Value | undefined {
    if (!(text instanceof StringValue && times instanceof IntegerValue)) return undefined;
    const count = Math.max(times.value, 0);
    this.#budget.checkString(text.value.length * count);
    return new StringValue(text.value.repeat(count));
  }

  override evaluateTestExpression(node: TestExpression, environment: Environment): BooleanValue {
    const operand = this.evaluate(node.operand, environment);
    return new BooleanValue(runTest(node.test.value, operand, undefined) !== node.negate);
  }

  override applyFilter(operand: Value, filter: Identifier | CallExpression, environment: Environment): Value {
    const isCall = filter.type === 'CallExpression';
    const name = isCall ? ((filter as CallExpression).callee as Identifier).value : (filter as Identifier).value;
    const own = Object.hasOwn(filters, name) ? filters[name] : undefined;
    if (own === undefined) return super.applyFilter(operand, filter, environment);
    const [args, named] = isCall
      ? this.evaluateArguments((filter as CallExpression).args, environment)
      : [[], new Map<string, Value>()];
    return own(operand, args, named, this.#context);
  }
}

function runTest(name: string, operand: Value, argument: Value | undefined): boolean {
  const test = Object.hasOwn(tests, name) ? tests[name] : undefined;
  if (test === undefined) throw new Error(`There is no test '${name}'.`);
  return test(operand, argument);
}

/** A node that stands for a value which is there already, to hand evaluated operands to the library's own methods. */
interface HeldValue extends Statement {
  readonly type: 'HeldValue';
  readonly held: Value;
}

function hold(held: Value): HeldValue {
  return { type: 'HeldValue', held };
}

function isLoopControl(error: unknown): error is LoopControl {
  return error instanceof BreakControl || error instanceof ContinueControl;
}

/** `'text' + arguments`, where the arguments of a tool call stand for their text. */
function concatenate(left: Value, right: Value): Value | undefined {
  const isText = (value: Value) => value instanceof StringValue || value instanceof JsonTextObject;
  const hasArguments = left instanceof JsonTextObject || right instanceof JsonTextObject;
  return hasArguments && isText(left) && isText(right)
    ? new StringValue(left.toString() + right.toString())
    : undefined;
}

/** The remainder has the sign of the divisor in Python. */
function modulo(left: Value, right: Value): Value | undefined {
  const isNumber = (value: Value) => value instanceof IntegerValue || value instanceof FloatValue;
  if (!isNumber(left) || !isNumber(right)) return undefined;
  const a = Number(left.value);
  const b = Number(right.value);
  if (b === 0) throw new Error('integer modulo by zero');
  const remainder = a - Math.floor(a / b) * b;
  return left instanceof IntegerValue && right instanceof IntegerValue
    ? new IntegerValue(remainder)
    : new FloatValue(remainder);
}
