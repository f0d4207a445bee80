import { Environment, Interpreter } from '@huggingface/jinja';

/**
 * The value classes and the interpreter of @huggingface/jinja 0.5.11, with types. The package exports the interpreter but
 * neither the classes nor the methods that we override, so they are taken from values that an environment makes. This
 * file is all that knows the library's inside; look here first when its version changes.
 */
export interface Value {
  readonly type: string;
  readonly value: unknown;
  __bool__(): { value: boolean };
  toString(): string;
}

interface Typed<T> extends Value {
  readonly value: T;
}
export interface StringValue extends Typed<string> {}
export interface IntegerValue extends Typed<number> {}
export interface FloatValue extends Typed<number> {}
export interface BooleanValue extends Typed<boolean> {}
export interface NullValue extends Typed<null> {}
export interface UndefinedValue extends Typed<undefined> {}
export interface ArrayValue extends Typed<Value[]> {}
export interface ObjectValue extends Typed<Map<string, Value>> {
  readonly builtins: ReadonlyMap<string, Value>;
}
/** A function gets the values of its positional arguments, then one `KeywordArgumentsValue` if there are named ones. */
export interface FunctionValue extends Typed<(args: Value[], scope: Environment) => Value> {}

type Constructor<T extends Value, Args extends unknown[] = [T['value']]> = new (...args: Args) => T;

const probe = new Environment();
let probes = 0;
const classOf = <C>(sample: unknown): C => probe.set(`probe${probes++}`, sample).constructor as C;

export const StringValue = classOf<Constructor<StringValue>>('');
export const IntegerValue = classOf<Constructor<IntegerValue>>(1);
export const FloatValue = classOf<Constructor<FloatValue>>(1.5);
export const BooleanValue = classOf<Constructor<BooleanValue>>(true);
export const NullValue = classOf<Constructor<NullValue, [null]>>(null);
export const UndefinedValue = classOf<Constructor<UndefinedValue, []>>(undefined);
export const ArrayValue = classOf<Constructor<ArrayValue>>([]);
export const ObjectValue = classOf<Constructor<ObjectValue>>({});
export const FunctionValue = classOf<Constructor<FunctionValue>>(() => null);

/** Node of a parsed template. What is in it depends on `type`. */
export interface Statement {
  readonly type: string;
}
export interface Identifier extends Statement {
  readonly value: string;
}
export interface CallExpression extends Statement {
  readonly callee: Statement;
  readonly args: Statement[];
}
export interface MemberExpression extends Statement {
  readonly object: Statement;
  readonly property: Statement;
  readonly computed: boolean;
}
export interface BinaryExpression extends Statement {
  readonly operator: { value: string };
  readonly left: Statement;
  readonly right: Statement;
}
export interface TestExpression extends Statement {
  readonly operand: Statement;
  readonly negate: boolean;
  readonly test: Identifier;
}
export interface SelectExpression extends Statement {
  readonly lhs: Statement;
  readonly test: Statement;
}
export interface SliceExpression extends Statement {
  readonly start: Statement | undefined;
  readonly stop: Statement | undefined;
  readonly step: Statement | undefined;
}
export interface For extends Statement {
  readonly loopvar: Statement;
  readonly iterable: Statement;
  readonly body: Statement[];
  readonly defaultBlock: Statement[];
}

/** The methods of the library's interpreter that ours overrides or calls. */
export interface LibraryInterpreter {
  evaluate(statement: Statement | undefined, environment: Environment): Value;
  evaluateBlock(statements: Statement[], environment: Environment): StringValue;
  evaluateFor(node: For, environment: Environment): StringValue;
  evaluateIdentifier(node: Identifier, environment: Environment): Value;
  evaluateMemberExpression(node: MemberExpression, environment: Environment): Value;
  evaluateBinaryExpression(node: BinaryExpression, environment: Environment): Value;
  evaluateTestExpression(node: TestExpression, environment: Environment): BooleanValue;
  evaluateArguments(args: Statement[], environment: Environment): [Value[], Map<string, Value>];
  applyFilter(operand: Value, filter: Identifier | CallExpression, environment: Environment): Value;
}

export const LibraryInterpreter = Interpreter as unknown as new (environment: Environment) => LibraryInterpreter;

const evaluate = (statement: Statement & Record<string, unknown>): Value =>
  new LibraryInterpreter(probe).evaluate(statement, probe);

function thrownBy(type: 'Break' | 'Continue'): new () => Error {
  try {
    evaluate({ type });
  } catch (error) {
    return (error as Error).constructor as new () => Error;
  }
  throw new Error(`@huggingface/jinja no longer throws for the statement ${type}.`);
}

export const TupleValue = evaluate({ type: 'TupleLiteral', value: [] }).constructor as Constructor<ArrayValue>;
/** Thrown by `{% break %}` and `{% continue %}`. */
export const BreakControl = thrownBy('Break');
export const ContinueControl = thrownBy('Continue');

export const isKeywordArguments = (value: Value | undefined): value is ObjectValue =>
  value?.type === 'KeywordArgumentsValue';
export const isNamespace = (value: Value): value is Typed<Map<string, Value>> => value.type === 'NamespaceValue';
