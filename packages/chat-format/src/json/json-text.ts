import { InvalidArgumentError } from '@hearth/core';

/**
 * A value that is given as JSON text, so that nothing of it is lost on the way to the template: `1.0` stays a float and
 * numbers keep all their digits. Use it for tool definitions, arguments and variables that came as JSON.
 *
 * @throws InvalidArgumentError when the text is not one JSON value
 */
export class JsonText {
  readonly text: string;

  /** @param isChecked spares the check of a text that a JSON reader has read */
  constructor(text: string, isChecked = false) {
    if (!isChecked) parse(text);
    this.text = text;
  }

  /** The value with JavaScript's numbers. */
  parse(): unknown {
    return parse(this.text);
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new InvalidArgumentError(
      `JsonText takes one JSON value: ${cause instanceof Error ? cause.message : String(cause)}.`,
      { cause },
    );
  }
}
