import { InvalidArgumentError } from '@hearth/core';
import { entryOf } from '../compile/byte-table.ts';
import { type DecoderTables, TokenFlag } from '../compile/compiled-tokenizer.ts';
import type { StartRule } from '../read/decoder-plan.ts';

const nothing = new Uint8Array(0);

/** The bytes of each token, on the main thread. */
export class TokenBytes {
  readonly start: StartRule;
  readonly #tables: DecoderTables;

  constructor(tables: DecoderTables) {
    this.start = tables.start;
    this.#tables = tables;
  }

  /** View of the bytes of text that an id adds; do not write to it. Rows without a token, padding among them, add none. */
  bytesOf(id: number): Uint8Array<ArrayBuffer> {
    checkId(id);
    return id < this.#tables.flags.length ? entryOf(this.#tables.tokenBytes, id) : nothing;
  }

  isSpecial(id: number): boolean {
    checkId(id);
    return ((this.#tables.flags[id] ?? 0) & TokenFlag.special) !== 0;
  }
}

function checkId(id: number): void {
  if (Number.isInteger(id) && id >= 0) return;
  throw new InvalidArgumentError(`A token id must be a whole number from 0 on, but it is ${id}.`, { details: { id } });
}
