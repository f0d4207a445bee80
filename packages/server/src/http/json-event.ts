/** An event of a stream that is JSON already, written by someone who knows which part of it stays the same. */
export class JsonEvent {
  readonly json: string;

  constructor(json: string) {
    this.json = json;
  }
}
