import { BoundedWorker, workerUrl } from '@hearth/bounded-worker';
import { InvalidArgumentError, LimitExceededError } from '@hearth/core';
import { NoChatTemplateError, TemplateError } from './chat-format-errors.ts';
import type { ChatTemplateSource } from './choose-chat-template.ts';
import { JsonText } from './json/json-text.ts';
import { writeJson } from './json/write-json.ts';
import { type ChatMessage, normalizeMessages } from './messages.ts';
import type { RenderMethods } from './render-worker.ts';
import type { RenderedChat } from './template/render.ts';

/** Bounds of rendering. */
export interface ChatTemplateLimits {
  /** Longest time of one render, in milliseconds. Default 2,000. */
  renderTimeMs?: number;
  /** Longest rendered text, in UTF-16 units. Default 2^20; four times the model's context is plenty. */
  outputLength?: number;
  /** Longest input of one render, as JSON in UTF-16 units. Default 2^22. */
  inputLength?: number;
  /** Longest template, in UTF-16 units. Default 2^20. */
  templateLength?: number;
}

/** Options of `loadChatTemplate`. */
export interface LoadChatTemplateOptions {
  /**
   * Literals of the model's special tokens (`tokenizer.specialTokens`). Where the template writes one it is a control
   * word; in messages it is text.
   */
  specialTokens?: readonly string[];
  /** Value of `bos_token` in the template. */
  bosToken?: string | undefined;
  /** Value of `eos_token` in the template. */
  eosToken?: string | undefined;
  limits?: ChatTemplateLimits;
  signal?: AbortSignal | undefined;
}

/** What to render. */
export interface RenderRequest {
  messages: readonly ChatMessage[];
  /** Definitions of tools. An empty list is none. */
  tools?: readonly unknown[] | JsonText | null | undefined;
  /** Ends with the beginning of the assistant's turn. Default false. */
  addGenerationPrompt?: boolean;
  /** Ends within the last message, for the model to go on with it. Default false. */
  continueFinalMessage?: boolean;
  /** What `strftime_now` takes for now. Default the present, in local time. */
  date?: Date | undefined;
  /** More variables of the template, e.g. `enable_thinking`. Texts in them are not trusted. */
  variables?: Readonly<Record<string, unknown>> | undefined;
  signal?: AbortSignal | undefined;
}

const defaultLimits: Readonly<Required<ChatTemplateLimits>> = {
  renderTimeMs: 2_000,
  outputLength: 2 ** 20,
  inputLength: 2 ** 22,
  templateLength: 2 ** 20,
};
/** Bounds what many small values can take; strings and lists have bounds of their own, see `Budget`. */
const heapLimitMiB = 512;
/** Names that the request has members of its own for. */
const reservedNames = ['messages', 'tools', 'add_generation_prompt', 'bos_token', 'eos_token'];

/**
 * Loads the chat template of a model. It is parsed and rendered in a worker of its own, which is ended and replaced when
 * a template does not come to an end.
 *
 * @throws InvalidModelError for a syntax error, with its line
 * @throws LimitExceededError when the template is too long; AbortError
 */
export async function loadChatTemplate(
  source: ChatTemplateSource,
  options: LoadChatTemplateOptions = {},
): Promise<ChatTemplate> {
  const limits = { ...defaultLimits, ...options.limits };
  for (const text of [source.template, source.toolTemplate])
    checkLength('chat template', text?.length ?? 0, limits.templateLength);
  const template = new ChatTemplate(source, { ...options, limits });
  try {
    await template.warmUp(options.signal);
  } catch (error) {
    await template.dispose();
    throw error;
  }
  return template;
}

/** The chat template of a model: messages to prompt. Made by `loadChatTemplate`; dispose it to end its worker. */
export class ChatTemplate {
  /** Where the template stands: a file or a key. */
  readonly origin: string;
  /** What it was loaded from. Its texts tell, for one, what a model writes its tool calls in (`detectToolCallStyle`). */
  readonly source: ChatTemplateSource;
  readonly #specialTokens: readonly string[];
  readonly #trusted: Readonly<Record<string, string>>;
  readonly #limits: Readonly<Required<ChatTemplateLimits>>;
  readonly #worker: BoundedWorker<RenderMethods, ChatTemplateSource>;

  /** Use `loadChatTemplate`. */
  constructor(
    source: ChatTemplateSource,
    options: LoadChatTemplateOptions & { limits: Readonly<Required<ChatTemplateLimits>> },
  ) {
    const { specialTokens = [], bosToken, eosToken, limits } = options;
    this.origin = source.origin;
    this.source = source;
    this.#specialTokens = specialTokens;
    this.#trusted = {
      ...(bosToken === undefined ? {} : { bos_token: bosToken }),
      ...(eosToken === undefined ? {} : { eos_token: eosToken }),
    };
    this.#limits = limits;
    this.#worker = new BoundedWorker(workerUrl(import.meta.url, 'render-worker'), {
      name: 'chat template',
      init: source,
      timeLimitMs: limits.renderTimeMs,
      // The text and its segments, which are objects of a few dozen bytes and may be one character each.
      outputLimit: limits.outputLength * 32 + 1000,
      heapLimitMiB,
      reviveError: (code, message, errorOptions) =>
        code === 'template_error' ? new TemplateError(message, errorOptions) : undefined,
    });
  }

  /** Starts the worker and parses the template. */
  async warmUp(signal?: AbortSignal): Promise<void> {
    await this.#worker.call('parse', undefined, { signal });
  }

  /**
   * Renders messages to a prompt. `text` is the whole prompt; `segments` is the same with the control words that the
   * template wrote apart from everything else, for `Tokenizer.encodeSegments`.
   *
   * @throws InvalidArgumentError naming `messages[i]` or another part of the request
   * @throws TemplateError when the template refuses the messages, with its own message
   * @throws LimitExceededError when it takes too long or writes too much; AbortError, DisposedError
   */
  async render(request: RenderRequest): Promise<RenderedChat> {
    const { addGenerationPrompt = false, continueFinalMessage = false, date, signal } = request;
    if (addGenerationPrompt && continueFinalMessage) {
      throw new InvalidArgumentError(
        'addGenerationPrompt and continueFinalMessage exclude each other: a turn either begins or goes on.',
      );
    }
    const tools = readTools(request.tools);
    const choice = this.#choose(tools !== null);
    const variables = writeVariables(request, tools);
    checkLength('input of the chat template', variables.length, this.#limits.inputLength);
    const input = {
      variables,
      trusted: this.#trusted,
      specialTokens: this.#specialTokens,
      continueFinalMessage,
      now: (date ?? new Date()).getTime(),
      maxOutput: this.#limits.outputLength,
    };
    return this.#worker.call('render', { choice, input }, { signal });
  }

  /** Ends the worker; open renders reject with `DisposedError`. Safe at any moment and as often as you like. */
  async dispose(): Promise<void> {
    await this.#worker.dispose();
  }

  #choose(hasTools: boolean): 'template' | 'toolTemplate' {
    if (hasTools && this.source.toolTemplate !== undefined) return 'toolTemplate';
    if (this.source.template !== undefined) return 'template';
    throw new NoChatTemplateError(
      `The model has a chat template for tools only (${this.origin}). Give tools, or use a plain prompt.`,
    );
  }
}

function readTools(tools: RenderRequest['tools']): readonly unknown[] | JsonText | null {
  if (tools === undefined || tools === null) return null;
  const list = tools instanceof JsonText ? tools.parse() : tools;
  if (!Array.isArray(list)) {
    throw new InvalidArgumentError(`tools must be a list, but it is ${list === null ? 'null' : typeof list}.`, {
      details: { place: 'tools' },
    });
  }
  return list.length === 0 ? null : tools;
}

function writeVariables(request: RenderRequest, tools: readonly unknown[] | JsonText | null): string {
  const { messages, addGenerationPrompt = false, variables = {} } = request;
  for (const name of reservedNames) {
    if (!Object.hasOwn(variables, name)) continue;
    throw new InvalidArgumentError(
      `variables.${name} cannot be set; the request and the model have a place of their own for it.`,
    );
  }
  const members = [
    `"messages":${writeJson(normalizeMessages(messages), 'messages')}`,
    `"tools":${writeJson(tools, 'tools')}`,
    `"add_generation_prompt":${addGenerationPrompt}`,
    // Transformers passes both of these, and templates look at them.
    ...(variables.documents === undefined ? ['"documents":null'] : []),
    ...Object.entries(variables)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => `${JSON.stringify(name)}:${writeJson(value, `variables.${name}`)}`),
  ];
  return `{${members.join(',')}}`;
}

function checkLength(what: string, length: number, limit: number): void {
  if (length <= limit) return;
  throw new LimitExceededError(`The ${what} has ${length} UTF-16 units, but the limit is ${limit}.`, {
    details: { limit: 'length', length, maximum: limit },
  });
}
