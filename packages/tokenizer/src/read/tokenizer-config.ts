import { InvalidModelError } from '@hearth/core';
import type { AddedToken, TokenizerDefinition } from '../tokenizer-definition.ts';
import { readAddedToken } from './read-tokenizer-json.ts';
import { invalid, readArray, readBoolean, readObject, readString, readTokenId, show } from './read-value.ts';

/** Roles in `tokenizer_config.json` whose tokens are special, whatever `tokenizer.json` says. */
const roles = ['bos_token', 'eos_token', 'unk_token', 'pad_token', 'sep_token', 'cls_token', 'mask_token'];
/** Classes of Transformers that put the BOS token first unless the file says `add_bos_token: false`. */
const classesThatAddBos = /^(Llama|CodeLlama|Gemma)Tokenizer(Fast)?$/;

/**
 * Adds what `tokenizer_config.json` says: which tokens are special, which are BOS and EOS, and whether BOS comes first.
 *
 * `add_bos_token` of the config decides; without it the template of the post-processor; without that the class.
 */
export function applyTokenizerConfig(
  definition: TokenizerDefinition,
  postProcessor: unknown,
  configValue: unknown,
): TokenizerDefinition {
  const config =
    configValue === undefined || configValue === null ? {} : readObject(configValue, 'tokenizer_config.json');
  const addedTokens = new Map(definition.addedTokens.map((token) => [token.content, token]));
  const idOf = (content: string) => addedTokens.get(content)?.id ?? definition.vocabulary.get(content);

  addDecoderEntries(config.added_tokens_decoder, addedTokens, idOf);
  for (const content of specialContents(config)) {
    const id = idOf(content);
    // Transformers would give a token that the vocabulary lacks a new id, for which the model has no row.
    if (id !== undefined) addedTokens.set(content, asSpecial(content, id, addedTokens.get(content)));
  }

  const bosFromTemplate = bosOfTemplate(postProcessor);
  const bosTokenId = roleId(config, 'bos_token', idOf) ?? bosFromTemplate;
  const eosTokenId = roleId(config, 'eos_token', idOf);
  const addsByClass = typeof config.tokenizer_class === 'string' && classesThatAddBos.test(config.tokenizer_class);
  return {
    ...definition,
    addedTokens: [...addedTokens.values()],
    bosTokenId,
    eosTokenIds: eosTokenId === undefined ? [] : [eosTokenId],
    addBos:
      bosTokenId !== undefined &&
      readBoolean(
        config.add_bos_token,
        'tokenizer_config.json: add_bos_token',
        bosFromTemplate !== undefined || addsByClass,
      ),
  };
}

/**
 * The `pre_tokenizer` with the blank before the text as the config wants it: Transformers lets `add_prefix_space` of the
 * config, false if absent, decide about a `ByteLevel` that stands alone. Without a config it stays as it is.
 */
export function withPrefixSpace(preTokenizer: unknown, configValue: unknown): unknown {
  if (configValue === undefined || configValue === null) return preTokenizer;
  const isByteLevel = (preTokenizer as { type?: unknown } | null | undefined)?.type === 'ByteLevel';
  if (!isByteLevel) return preTokenizer;
  const { add_prefix_space } = readObject(configValue, 'tokenizer_config.json');
  const place = 'tokenizer_config.json: add_prefix_space';
  return { ...(preTokenizer as object), add_prefix_space: readBoolean(add_prefix_space, place, false) };
}

function addDecoderEntries(
  value: unknown,
  addedTokens: Map<string, AddedToken>,
  idOf: (content: string) => number | undefined,
): void {
  if (value === undefined || value === null) return;
  for (const [key, item] of Object.entries(readObject(value, 'tokenizer_config.json: added_tokens_decoder'))) {
    const place = `tokenizer_config.json: added_tokens_decoder[${JSON.stringify(key)}]`;
    const token = readAddedToken(readObject(item, place), readTokenId(Number(key), place), place);
    const knownId = idOf(token.content);
    if (knownId !== undefined && knownId !== token.id) {
      throw new InvalidModelError(
        `${place} gives ${show(token.content)} the id ${token.id}, but in tokenizer.json its id is ${knownId}.`,
        { details: { place } },
      );
    }
    if (!addedTokens.has(token.content)) addedTokens.set(token.content, token);
  }
}

function specialContents(config: Record<string, unknown>): string[] {
  const contents = roles.flatMap((role) => contentOf(config[role], role) ?? []);
  const more = config.additional_special_tokens;
  if (more !== undefined && more !== null) {
    const place = 'tokenizer_config.json: additional_special_tokens';
    readArray(more, place).forEach((item, index) => {
      contents.push(contentOf(item, `additional_special_tokens[${index}]`) ?? '');
    });
  }
  return contents.filter((content) => content !== '');
}

/** A role is a string, or an object with `content` as older files have it. */
function contentOf(value: unknown, name: string): string | undefined {
  if (value === undefined || value === null) return undefined;
  const place = `tokenizer_config.json: ${name}`;
  return typeof value === 'string' ? value : readString(readObject(value, place).content, `${place}.content`);
}

function roleId(
  config: Record<string, unknown>,
  role: string,
  idOf: (content: string) => number | undefined,
): number | undefined {
  const content = contentOf(config[role], role);
  if (content === undefined || content === '') return undefined;
  const id = idOf(content);
  if (id !== undefined) return id;
  throw new InvalidModelError(`tokenizer_config.json: ${role} is ${show(content)}, which is not in tokenizer.json.`, {
    details: { place: `tokenizer_config.json: ${role}` },
  });
}

function asSpecial(content: string, id: number, known: AddedToken | undefined): AddedToken {
  const plain = { id, content, lstrip: false, rstrip: false, singleWord: false, normalized: false };
  return { ...plain, ...known, special: true };
}

/** Id of the token that a `TemplateProcessing` post-processor puts before the text, if it does. */
function bosOfTemplate(postProcessor: unknown): number | undefined {
  if (postProcessor === undefined || postProcessor === null) return undefined;
  const config = readObject(postProcessor, 'post_processor');
  if (config.type === 'Sequence') {
    const processors = readArray(config.processors, 'post_processor.processors');
    return processors.map(bosOfTemplate).find((id) => id !== undefined);
  }
  if (config.type !== 'TemplateProcessing') return undefined;
  const first = readObject(readArray(config.single, 'post_processor.single')[0], 'post_processor.single[0]');
  if (first.SpecialToken === undefined) return undefined;
  const name = readString(
    readObject(first.SpecialToken, 'post_processor.single[0].SpecialToken').id,
    'post_processor.single[0].SpecialToken.id',
  );
  const specials = readObject(config.special_tokens, 'post_processor.special_tokens');
  const place = `post_processor.special_tokens[${JSON.stringify(name)}]`;
  const ids = readArray(
    readObject(Object.hasOwn(specials, name) ? specials[name] : undefined, place).ids,
    `${place}.ids`,
  );
  if (ids.length !== 1) throw invalid(`${place}.ids`, 'one id', ids);
  return readTokenId(ids[0], `${place}.ids[0]`);
}
