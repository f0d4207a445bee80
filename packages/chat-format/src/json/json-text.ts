/**
 * A value that is given as JSON text, so that nothing of it is lost on the way to the template: `1.0` stays a float and
 * numbers keep all their digits. Use it for tool definitions, arguments and variables that came as JSON.
 */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}
