import { Ajv2020 } from 'ajv/dist/2020.js';
import { type AnyJson, parseEvents } from './test-server.ts';

/** Checks answers by the OpenAPI description of the server that gave them. */
export class AnswerChecker {
  readonly #document: AnyJson;
  readonly #ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: false });

  constructor(document: AnyJson) {
    this.#document = document;
    this.#ajv.addSchema(document, 'document');
  }

  /** @throws Error that says what is not as described: status, content type, or what in the body or an event */
  async check(method: string, path: string, response: Response): Promise<void> {
    const place = ['paths', path, method.toLowerCase(), 'responses', `${response.status}`];
    const described = place.reduce((value, key) => value?.[key], this.#document);
    const text = await response.text();
    if (response.status >= 500) throw new Error(`Status ${response.status}: ${text.slice(0, 500)}`);
    if (!described) throw new Error(`Status ${response.status} is not described: ${text.slice(0, 500)}`);
    const [contentType = ''] = (response.headers.get('content-type') ?? '').split(';');
    if (!described.content[contentType]) throw new Error(`Content type ${contentType} is not described.`);
    const pointer = [...place, 'content', contentType, 'schema'];
    if (contentType === 'text/event-stream') for (const event of parseEvents(text)) this.#checkEvent(event, pointer);
    else this.#validate(contentType === 'application/json' ? JSON.parse(text) : text, pointer);
  }

  #checkEvent(event: unknown, pointer: readonly string[]): void {
    if (event === '[DONE]') return;
    const isError = typeof event === 'object' && event !== null && 'error' in event;
    const error = isError && (event.error as AnyJson);
    if (error?.type === 'server_error') throw new Error(`An event is an error of ours: ${JSON.stringify(event)}`);
    this.#validate(event, isError ? ['components', 'schemas', 'Error'] : pointer);
  }

  #validate(value: unknown, pointer: readonly string[]): void {
    const keys = pointer.map((key) => encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1')));
    const validate = this.#ajv.getSchema(`document#/${keys.join('/')}`);
    if (!validate) throw new Error(`There is no schema at ${pointer.join(' ')}.`);
    if (validate(value)) return;
    const [error] = validate.errors ?? [];
    throw new Error(
      `${error?.instancePath} ${error?.message} ${JSON.stringify(error?.params)}: ${JSON.stringify(value).slice(0, 500)}`,
    );
  }
}
