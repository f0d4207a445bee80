import type { Model } from '@hearth/engine';
import { listInputs, type TextOrIds } from '../../fields/text-or-ids.ts';
import { checkTokenIds } from '../../fields/token-ids.ts';
import { badRequest } from '../../http/api-error.ts';
import type { CompletionFields } from './completion-body.ts';
import { type FillTokens, requireFillTokens } from './fill-in-the-middle.ts';

/** A prompt as the model is given it. */
export interface Prompt {
  readonly input: TextOrIds;
  readonly tokenIds: ArrayLike<number>;
}

export interface Prompts {
  readonly prompts: readonly Prompt[];
  /** Tokens that end the texts, besides those that end any text. */
  readonly endTokenIds: readonly number[];
}

type PromptFields = Pick<CompletionFields, 'prompt' | 'suffix' | 'add_special_tokens' | 'parse_special'>;

export interface ReadPromptsOptions {
  /** Most prompts. */
  readonly most: number;
  readonly signal: AbortSignal;
}

/**
 * Encodes the prompts of a request. A prompt of text begins with the start token if the model was trained with one, once; one of
 * ids is taken as it is.
 *
 * @throws ApiError 400 for too many prompts, for an empty one, for ids outside the vocabulary, and for a suffix where the
 *   model has no tokens to fill a middle with
 */
export async function readPrompts(
  { tokenizer, info }: Pick<Model, 'tokenizer' | 'info'>,
  fields: PromptFields,
  { most, signal }: ReadPromptsOptions,
): Promise<Prompts> {
  const inputs = listInputs(fields.prompt, 'prompt');
  if (inputs.length === 0) throw badRequest('prompt', 'prompt: must hold at least one prompt.');
  if (inputs.length > most) {
    throw badRequest(
      'prompt',
      `prompt: at most ${most} prompts are answered at once here, but there are ${inputs.length}.`,
    );
  }
  for (const { input, place } of inputs) {
    if (typeof input !== 'string') checkTokenIds(input, info.vocabSize, place);
  }
  const { suffix } = fields;
  const fill = suffix ? await requireFillTokens(tokenizer) : undefined;
  const specialTokens = (fields.parse_special ?? !fill) ? 'parse' : 'text';
  const encode = (text: string) => tokenizer.encode(text, { addBos: false, specialTokens, signal });
  const addsBos = (fields.add_special_tokens ?? true) && tokenizer.addsBos;
  const suffixIds = fill && (await encode(suffix!));
  const prompts = await Promise.all(
    inputs.map(async ({ input, place }) => {
      const ids = typeof input === 'string' ? await encode(input) : input;
      const inner = fill ? withFill(fill, ids, suffixIds!) : ids;
      const needsBos = typeof input === 'string' && addsBos && inner[0] !== tokenizer.bosTokenId;
      const tokenIds = needsBos ? [tokenizer.bosTokenId!, ...Array.from(inner)] : inner;
      if (tokenIds.length === 0) throw badRequest(place, `${place}: must not be empty with this model.`);
      return { input, tokenIds };
    }),
  );
  return { prompts, endTokenIds: fill?.ends ?? [] };
}

function withFill(fill: FillTokens, prefix: ArrayLike<number>, suffix: ArrayLike<number>): number[] {
  return [fill.prefix, ...Array.from(prefix), fill.suffix, ...Array.from(suffix), fill.middle];
}
