import { DisposedError, throwIfAborted } from '@hearth/core';
import type { DecodeOptions, EncodeOptions, EncodeSegmentsOptions, Segment } from '@hearth/tokenizer';
import type { ModelTokenizer } from '../model/model.ts';
import { ByteDetokenizer, bytesOf, fakeSpecialTokens, fakeTokens } from './byte-codec.ts';

/** A tokenizer whose tokens are the bytes of UTF-8 and four control tokens, without a worker. */
export class FakeTokenizer implements ModelTokenizer {
  readonly vocabSize = 260;
  readonly bosTokenId = fakeTokens.bos;
  readonly eosTokenIds = [fakeTokens.eos, fakeTokens.imEnd];
  readonly addsBos: boolean;
  readonly specialTokens = Object.entries(fakeSpecialTokens).map(([content, id]) => ({ id, content }));
  readonly fingerprint = 'fake';
  isDisposed = false;

  constructor(options: { addsBos?: boolean } = {}) {
    this.addsBos = options.addsBos ?? true;
  }

  async warmUp(): Promise<void> {}

  async encode(text: string, options: EncodeOptions = {}): Promise<Int32Array<ArrayBuffer>> {
    const { specialTokens = 'text', addBos = 'auto', signal } = options;
    const literals = Object.keys(fakeSpecialTokens).map((literal) => literal.replaceAll('|', '\\|'));
    const parts = specialTokens === 'parse' ? text.split(new RegExp(`(${literals.join('|')})`)) : [text];
    const segments = parts.map((part) =>
      fakeSpecialTokens[part] && parts.length > 1 ? { control: part } : { text: part },
    );
    return this.encodeSegments(segments, { addBos, signal });
  }

  async encodeSegments(
    segments: readonly Segment[],
    { addBos = 'auto', signal }: EncodeSegmentsOptions = {},
  ): Promise<Int32Array<ArrayBuffer>> {
    if (this.isDisposed) throw new DisposedError('tokenizer');
    throwIfAborted(signal);
    const ids = segments.flatMap((segment) =>
      'text' in segment ? bytesOf(segment.text) : [fakeSpecialTokens[segment.control]!],
    );
    const wantsBos = addBos === 'auto' ? this.addsBos : addBos;
    return Int32Array.from(wantsBos && ids[0] !== fakeTokens.bos ? [fakeTokens.bos, ...ids] : ids);
  }

  decode(ids: ArrayLike<number>, options?: DecodeOptions): string {
    const detokenizer = this.createDetokenizer(options);
    return Array.from(ids, (id) => detokenizer.push(id)).join('') + detokenizer.flush();
  }

  createDetokenizer({ skipSpecialTokens = false, keepSpecialTokens }: DecodeOptions = {}): ByteDetokenizer {
    if (this.isDisposed) throw new DisposedError('tokenizer');
    return new ByteDetokenizer(skipSpecialTokens ? keepSpecialTokens : new Set(Object.values(fakeSpecialTokens)));
  }

  tokenBytes(id: number): Uint8Array<ArrayBuffer> {
    return id < 256 ? Uint8Array.of(id) : new Uint8Array();
  }

  isSpecial(id: number): boolean {
    return id >= 256 && id < this.vocabSize;
  }

  async dispose(): Promise<void> {
    this.isDisposed = true;
  }
}
