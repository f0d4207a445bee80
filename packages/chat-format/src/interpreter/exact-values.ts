import { IntegerValue, ObjectValue, type Value } from './runtime-values.ts';

/** A whole number that a double cannot hold, with its digits. Arithmetic on it is that of doubles. */
export class ExactInteger extends IntegerValue {
  readonly digits: string;

  constructor(digits: string) {
    super(Number(digits));
    this.digits = digits;
  }

  override toString(): string {
    return this.digits;
  }
}

/**
 * Arguments of a tool call that came as JSON text, as OpenAI's interface has them. Templates use arguments in one of two
 * ways, and this value suits both: walked over or passed to `tojson` it is the object, printed or joined to a string it is
 * the text.
 */
export class JsonTextObject extends ObjectValue {
  readonly text: string;

  constructor(members: Map<string, Value>, text: string) {
    super(members);
    this.text = text;
  }

  override toString(): string {
    return this.text;
  }
}
