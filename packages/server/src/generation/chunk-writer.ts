import type { z } from 'zod';
import { JsonEvent } from '../http/json-event.ts';
import type { usageSchema } from './usage.ts';

/** Writes the chunks of a streamed answer as JSON, of which most is the same for all of them. */
export class ChunkWriter<Choice extends object> {
  readonly #beginning: string;
  readonly #end: string;

  /** @param head what all chunks begin with */
  constructor(head: object, includeUsage: boolean) {
    this.#beginning = `${JSON.stringify(head).slice(0, -1)},"choices":[`;
    this.#end = includeUsage ? '],"usage":null}' : ']}';
  }

  choice(choice: Choice): JsonEvent {
    return new JsonEvent(this.#beginning + JSON.stringify(choice) + this.#end);
  }

  /** The last chunk, which has no choice. */
  usage(usage: z.output<typeof usageSchema>): JsonEvent {
    return new JsonEvent(`${this.#beginning}],"usage":${JSON.stringify(usage)}}`);
  }
}
