import { Buffer, isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { InvalidModelError, type MappedFile, throwIfAborted } from '@hearth/core';
import { TimeSlice } from '../io/time-slice.ts';

/** Bytes read at a time. A longer string gets a window of its own length. */
const windowBytes = 2 ** 20;

/**
 * Walks a file front to back through a window. Reads are in two parts: `await need(n)` brings n bytes into the window, then
 * the synchronous readers take them, so that loops over hundreds of thousands of small values rarely wait.
 *
 * `need` is the one place where a length from the file meets the bytes that are left, before anything is allocated.
 */
export class HeaderReader {
  readonly file: MappedFile;
  readonly slice = new TimeSlice();
  readonly #maxBytes: number;
  readonly #signal: AbortSignal | undefined;
  readonly #hash = createHash('sha256');
  #window: Buffer = Buffer.alloc(0);
  #view: DataView = new DataView(new ArrayBuffer(0));
  /** File offset of the window's first byte. */
  #windowStart = 0;
  /** Next byte to take, from the start of the window. */
  #at = 0;

  /** @param maxBytes a header longer than this is refused */
  constructor(file: MappedFile, maxBytes: number, signal?: AbortSignal) {
    this.file = file;
    this.#maxBytes = maxBytes;
    this.#signal = signal;
  }

  /** Bytes from the start of the file. */
  get position(): number {
    return this.#windowStart + this.#at;
  }

  /** Bytes from here to the end of the file. */
  get bytesLeft(): number {
    return this.file.size - this.position;
  }

  /** Bytes that can be taken without waiting. */
  get available(): number {
    return this.#window.length - this.#at;
  }

  fail(message: string, details: Record<string, unknown> = {}): never {
    throw new InvalidModelError(`${this.file.path}: ${message}`, {
      details: { path: this.file.path, offset: this.position, ...details },
    });
  }

  /** Makes the next `numBytes` available; `what` says what they hold, for the message when the file ends before. */
  async need(numBytes: number, what: string): Promise<void> {
    if (this.available >= numBytes) return;
    if (numBytes > this.bytesLeft) {
      this.fail(
        `${what} takes ${numBytes} bytes at offset ${this.position}, but the file ends at ${this.file.size}. It is cut short or damaged.`,
      );
    }
    if (this.position + numBytes > this.#maxBytes) {
      this.fail(`the header is longer than ${this.#maxBytes} bytes (at ${what}), far more than any model has.`);
    }
    throwIfAborted(this.#signal);
    if (this.slice.isSpent) await this.slice.next();
    this.#hash.update(this.#window.subarray(0, this.#at));
    const start = this.position;
    const bytes = await this.file.read(start, Math.min(this.bytesLeft, Math.max(numBytes, windowBytes)));
    this.#window = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#windowStart = start;
    this.#at = 0;
  }

  u8 = (): number => this.#view.getUint8(this.#advance(1));
  i8 = (): number => this.#view.getInt8(this.#advance(1));
  u16 = (): number => this.#view.getUint16(this.#advance(2), true);
  i16 = (): number => this.#view.getInt16(this.#advance(2), true);
  u32 = (): number => this.#view.getUint32(this.#advance(4), true);
  i32 = (): number => this.#view.getInt32(this.#advance(4), true);
  f32 = (): number => this.#view.getFloat32(this.#advance(4), true);
  f64 = (): number => this.#view.getFloat64(this.#advance(8), true);
  u64 = (): bigint => this.#view.getBigUint64(this.#advance(8), true);
  i64 = (): bigint => this.#view.getBigInt64(this.#advance(8), true);

  /** A u64 as a number, or null when it is above 2^53 and so larger than any file. No bigint is made: this runs once a string. */
  count(): number | null {
    const at = this.#advance(8);
    const high = this.#view.getUint32(at + 4, true);
    return high >= 2 ** 21 ? null : high * 2 ** 32 + this.#view.getUint32(at, true);
  }

  /** Whether a string, its length and its text, lies wholly in the window. */
  get hasStringAvailable(): boolean {
    const at = this.#at;
    return (
      this.available >= 8 &&
      this.#view.getUint32(at + 4, true) === 0 &&
      this.#view.getUint32(at, true) <= this.available - 8
    );
  }

  /** The u64 that `count` just took, exactly, for messages. */
  lastU64(): bigint {
    return this.#view.getBigUint64(this.#at - 8, true);
  }

  /** UTF-8 text. Null when the bytes are not UTF-8 (they are taken all the same, see `lastText`). */
  text(numBytes: number): string | null {
    const start = this.#advance(numBytes);
    const text = this.#window.toString('utf8', start, start + numBytes);
    // Only text with a replacement character can have been damaged; looking at it twice is rare.
    if (text.includes('\ufffd') && !isUtf8(this.#window.subarray(start, start + numBytes))) return null;
    return text;
  }

  /** The last `numBytes` as text, with U+FFFD for what is not UTF-8. */
  lastText(numBytes: number): string {
    return this.#window.toString('utf8', this.#at - numBytes, this.#at);
  }

  /** A view of the next bytes; valid until the next `need`. */
  bytes(numBytes: number): Uint8Array {
    const start = this.#advance(numBytes);
    return this.#window.subarray(start, start + numBytes);
  }

  /** SHA-256 in hex of everything taken so far. Ends the reader. */
  digest(): string {
    return this.#hash.update(this.#window.subarray(0, this.#at)).digest('hex');
  }

  #advance(numBytes: number): number {
    const at = this.#at;
    this.#at = at + numBytes;
    return at;
  }
}
