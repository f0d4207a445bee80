import type { ModelTokenizer } from '@hearth/engine';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The text of one token, or its bytes where they are no whole characters. Empty for ids without a token. */
export function tokenPiece(tokenizer: Pick<ModelTokenizer, 'tokenBytes'>, id: number): string | number[] {
  const bytes = tokenizer.tokenBytes(id);
  try {
    return utf8.decode(bytes);
  } catch {
    return [...bytes];
  }
}
