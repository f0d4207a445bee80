import type { ModelTokenizer } from '@hearth/engine';
import { oncePer } from '../../generation/once-per.ts';
import { badRequest } from '../../http/api-error.ts';

/** Tokens of a model that was trained to write what stands between two texts. */
export interface FillTokens {
  readonly prefix: number;
  readonly suffix: number;
  readonly middle: number;
  /** Those that end the middle. */
  readonly ends: readonly number[];
}

/** Before the prefix, before the suffix, before the middle: as the families write them. */
const knownMarkers = [
  // Qwen2.5-Coder, CodeGemma
  ['<|fim_prefix|>', '<|fim_suffix|>', '<|fim_middle|>'],
  // StarCoder, Granite Code
  ['<fim_prefix>', '<fim_suffix>', '<fim_middle>'],
  // SantaCoder
  ['<fim-prefix>', '<fim-suffix>', '<fim-middle>'],
  // Code Llama, by the pieces of its vocabulary
  ['▁<PRE>', '▁<SUF>', '▁<MID>'],
  ['<PRE>', '<SUF>', '<MID>'],
  // DeepSeek-Coder
  ['<｜fim▁begin｜>', '<｜fim▁hole｜>', '<｜fim▁end｜>'],
] as const;

/** After the middle, besides what ends any text: the next file, or filling of the batch that the model was trained with. */
const knownEnds = [
  '<|endoftext|>',
  '<|fim_pad|>',
  '<|file_sep|>',
  '<|repo_name|>',
  '<|file_separator|>',
  '<fim_pad>',
  '<fim-pad>',
  '<file_sep>',
  '▁<EOT>',
  '<EOT>',
];

type Encoder = Pick<ModelTokenizer, 'encode'>;

/** The tokens for it, looked for once; undefined for a model without them. */
export const fillTokens = oncePer(findFillTokens);

async function findFillTokens(tokenizer: Encoder): Promise<FillTokens | undefined> {
  for (const markers of knownMarkers) {
    const [prefix, suffix, middle] = await Promise.all(markers.map((marker) => singleToken(tokenizer, marker)));
    if (prefix === undefined || suffix === undefined || middle === undefined) continue;
    const ends = await Promise.all(knownEnds.map((marker) => singleToken(tokenizer, marker)));
    return { prefix, suffix, middle, ends: ends.filter((end) => end !== undefined) };
  }
  return undefined;
}

async function singleToken(tokenizer: Encoder, marker: string): Promise<number | undefined> {
  const ids = await tokenizer.encode(marker, { addBos: false, specialTokens: 'parse' });
  return ids.length === 1 ? ids[0] : undefined;
}

/** @throws ApiError 400 for a model that was not trained for it */
export async function requireFillTokens(tokenizer: Encoder): Promise<FillTokens> {
  const tokens = await fillTokens(tokenizer);
  if (tokens) return tokens;
  throw badRequest('suffix', 'suffix: the model has no tokens to fill a middle with; leave it out.');
}
