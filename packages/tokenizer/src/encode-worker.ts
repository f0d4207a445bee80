import { serve, withTransfer } from '@hearth/bounded-worker';
import type { EncoderTables } from './compile/compiled-tokenizer.ts';
import { type AddBos, Encoder, type Segment } from './encode/encoder.ts';

/** Methods of the thread that encodes; its init value is the encoder's tables. */
function createMethods(tables: EncoderTables) {
  const encoder = new Encoder(tables);
  return {
    encode: ({ text, parseSpecial, addBos }: { text: string; parseSpecial: boolean; addBos: AddBos }) => {
      const ids = encoder.encode(text, parseSpecial, addBos);
      return withTransfer(ids, [ids.buffer]);
    },
    encodeSegments: ({ segments, addBos }: { segments: readonly Segment[]; addBos: AddBos }) => {
      const ids = encoder.encodeSegments(segments, addBos);
      return withTransfer(ids, [ids.buffer]);
    },
    /** Answers when the tables are built. */
    ready: () => true,
  };
}

export type EncodeMethods = ReturnType<typeof createMethods>;

serve<EncoderTables, EncodeMethods>(createMethods);
