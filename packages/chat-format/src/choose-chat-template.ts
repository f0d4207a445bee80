import { InvalidModelError } from '@hearth/core';
import { NoChatTemplateError } from './chat-format-errors.ts';

/** The template or templates of a model, and where they come from. */
export interface ChatTemplateSource {
  /** Where the text stands, for messages: a file or a key. */
  origin: string;
  /** Used unless another one fits better. Absent if the model has named templates without a `default`. */
  template?: string | undefined;
  /** Used when tools are given. */
  toolTemplate?: string | undefined;
}

/** The places where a model may have its chat template; pass what there is. */
export interface ChatTemplatePlaces {
  /** Content of `chat_template.jinja`. */
  jinjaFile?: string | undefined;
  /** Parsed `tokenizer_config.json`; its `chat_template` is a string or a list of named templates. */
  tokenizerConfig?: Readonly<Record<string, unknown>> | undefined;
  /** Value of the GGUF key `tokenizer.chat_template`. */
  ggufTemplate?: string | undefined;
  /** Values of the GGUF keys `tokenizer.chat_template.NAME`, by NAME. */
  ggufNamedTemplates?: Readonly<Record<string, string>> | undefined;
}

/**
 * Chooses the chat template of a model: the file of its own wins over the tokenizer's config, as in Transformers, and
 * both over the GGUF keys. A place that holds no more than white space holds nothing: it would render to an empty prompt.
 *
 * @throws NoChatTemplateError when there is none
 * @throws InvalidModelError when `chat_template` is neither a string nor a list of named templates
 */
export function chooseChatTemplate(places: ChatTemplatePlaces): ChatTemplateSource {
  const { jinjaFile, tokenizerConfig } = places;
  if (holdsText(jinjaFile)) return { origin: 'chat_template.jinja', template: jinjaFile };
  const fromConfig = tokenizerConfig?.chat_template;
  if (typeof fromConfig === 'string' ? holdsText(fromConfig) : fromConfig !== undefined && fromConfig !== null) {
    return readConfig(fromConfig);
  }
  const fromGguf = readGguf(places);
  if (fromGguf !== undefined) return fromGguf;
  throw new NoChatTemplateError(
    'This model has no chat template, so it cannot be given messages. Use a plain prompt, or a model that was tuned for chat.',
  );
}

function holdsText(template: string | undefined): template is string {
  return template !== undefined && template.trim() !== '';
}

function readGguf({ ggufTemplate, ggufNamedTemplates = {} }: ChatTemplatePlaces): ChatTemplateSource | undefined {
  const named = (name: string) => (Object.hasOwn(ggufNamedTemplates, name) ? ggufNamedTemplates[name] : undefined);
  const template = [ggufTemplate, named('default')].find(holdsText);
  const toolTemplate = [named('tool_use')].find(holdsText);
  if (template === undefined && toolTemplate === undefined) return undefined;
  return { origin: 'tokenizer.chat_template', template, ...(toolTemplate !== undefined && { toolTemplate }) };
}

function readConfig(value: unknown): ChatTemplateSource {
  const origin = 'chat_template of tokenizer_config.json';
  if (typeof value === 'string') return { origin, template: value };
  if (!Array.isArray(value)) throw invalid(origin, 'a string or a list of named templates', value);
  const named = new Map<string, string>();
  value.forEach((item: unknown, index) => {
    const { name, template } = (item ?? {}) as Record<string, unknown>;
    if (typeof name !== 'string' || typeof template !== 'string') {
      throw invalid(`${origin}[${index}]`, 'an object with the strings name and template', item);
    }
    named.set(name, template);
  });
  const template = named.get('default');
  const toolTemplate = named.get('tool_use');
  if (template === undefined && toolTemplate === undefined) {
    throw invalid(origin, 'a list with a template named "default" or "tool_use"', [...named.keys()]);
  }
  return { origin, template, toolTemplate };
}

function invalid(place: string, expected: string, value: unknown): InvalidModelError {
  const shown = JSON.stringify(value)?.slice(0, 80);
  return new InvalidModelError(`The ${place} must be ${expected}, but it is ${shown}.`, { details: { place } });
}
