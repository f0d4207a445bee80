import { InvalidArgumentError } from '@hearth/core';
import type { EncoderTables } from '../compile/compiled-tokenizer.ts';
import type { AddedToken } from '../tokenizer-definition.ts';
import { AddedTokenSplitter, skipBlanksBackward, skipBlanksForward } from './added-token-splitter.ts';
import { BytePairEncoder } from './byte-pair-encoder.ts';
import { IdList } from './id-list.ts';
import { TextPipeline } from './text-pipeline.ts';

/** Part of a rendered chat: text that people wrote, or the literal of a special token that the template wrote. */
export type Segment = { readonly text: string } | { readonly control: string };

/** Whether the BOS token comes first: `auto` as the model was trained. */
export type AddBos = boolean | 'auto';

const loneSurrogate = /\p{Surrogate}/gu;

/** Text to ids. Synchronous; it runs in the tokenizer's worker. */
export class Encoder {
  readonly #tables: EncoderTables;
  readonly #pipeline: TextPipeline;
  readonly #words: BytePairEncoder;
  readonly #raw: AddedTokenSplitter;
  /** Tokens that are looked for after normalization, spelled as normalization leaves them. */
  readonly #normalized: AddedTokenSplitter;
  readonly #specialByContent: ReadonlyMap<string, AddedToken>;

  constructor(tables: EncoderTables) {
    this.#tables = tables;
    this.#pipeline = new TextPipeline(tables.normalizer, tables.preTokenizer);
    this.#words = new BytePairEncoder(tables);
    const { addedTokens } = tables;
    this.#raw = new AddedTokenSplitter(addedTokens.filter((token) => !token.normalized));
    this.#normalized = new AddedTokenSplitter(
      addedTokens.filter((token) => token.normalized),
      (token) => token.spelling ?? this.#pipeline.normalize(token.content),
    );
    this.#specialByContent = new Map(
      addedTokens.filter((token) => token.special).map((token) => [token.content, token]),
    );
  }

  /** Ids of a text. Special tokens in it are control tokens if `parseSpecial`, and plain text otherwise. */
  encode(text: string, parseSpecial: boolean, addBos: AddBos): Int32Array<ArrayBuffer> {
    const out = new IdList();
    this.#encodeText(text, parseSpecial, true, out);
    return this.#withBos(out, addBos);
  }

  /** Ids of a rendered chat. Neighbouring texts are one text; a control literal is its token and nothing else is. */
  encodeSegments(segments: readonly Segment[], addBos: AddBos): Int32Array<ArrayBuffer> {
    const out = new IdList();
    let text = '';
    let before: AddedToken | undefined;
    const flush = (after: AddedToken | undefined) => {
      const start = before?.rstrip ? skipBlanksForward(text, 0) : 0;
      const end = after?.lstrip ? skipBlanksBackward(text, text.length) : text.length;
      if (end > start) this.#encodeText(text.slice(start, end), false, before === undefined, out);
      text = '';
    };
    segments.forEach((segment, index) => {
      if ('text' in segment) {
        text += segment.text;
        return;
      }
      const token = this.#specialByContent.get(segment.control);
      if (token === undefined) throw unknownControl(segment.control, index);
      flush(token);
      out.push(token.id);
      before = token;
    });
    flush(undefined);
    return this.#withBos(out, addBos);
  }

  /** @param isStart whether the text begins the whole input */
  #encodeText(text: string, parseSpecial: boolean, isStart: boolean, out: IdList): void {
    let atStart = isStart;
    // A lone surrogate is no character; UTF-8 has no form for it, so it becomes U+FFFD like everywhere else.
    for (const stretch of this.#raw.split(text.replace(loneSurrogate, '\ufffd'), parseSpecial)) {
      if ('token' in stretch) out.push(stretch.token.id);
      else this.#encodeStretch(stretch.text, parseSpecial, atStart, out);
      atStart = false;
    }
  }

  #encodeStretch(text: string, parseSpecial: boolean, isStart: boolean, out: IdList): void {
    let atStart = isStart;
    for (const stretch of this.#normalized.split(this.#pipeline.normalize(text), parseSpecial)) {
      if ('token' in stretch) out.push(stretch.token.id);
      else for (const word of this.#pipeline.cut(stretch.text, atStart)) this.#words.encode(word, out);
      atStart = false;
    }
  }

  #withBos(ids: IdList, addBos: AddBos): Int32Array<ArrayBuffer> {
    const { bosTokenId } = this.#tables;
    const wanted = addBos === 'auto' ? this.#tables.addBos : addBos;
    if (!wanted) return ids.slice();
    if (bosTokenId === undefined) {
      throw new InvalidArgumentError('addBos is true, but this tokenizer has no BOS token. Leave addBos at "auto".');
    }
    if (ids.at(0) === bosTokenId) return ids.slice();
    const withBos = new Int32Array(ids.length + 1);
    withBos[0] = bosTokenId;
    withBos.set(ids.slice(), 1);
    return withBos;
  }
}

function unknownControl(control: string, index: number): InvalidArgumentError {
  return new InvalidArgumentError(
    `segments[${index}].control is ${JSON.stringify(control)}, which is no special token of this tokenizer.`,
    { details: { place: `segments[${index}].control`, control } },
  );
}
