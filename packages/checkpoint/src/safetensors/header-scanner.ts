import { Buffer } from 'node:buffer';
import { InvalidModelError } from '@hearth/core';

const quote = 0x22;
const backslash = 0x5c;

/**
 * Reads JSON tokens of a safetensors header from its bytes.
 *
 * `JSON.parse` would do for honest files, but it keeps the last of two equal keys in silence, turns long integers into nearby
 * ones, says nothing of where, and holds the event loop for as long as a header of 100 MB takes.
 */
export class HeaderScanner {
  readonly #bytes: Buffer;
  readonly #path: string;
  #at = 0;

  constructor(bytes: Uint8Array, path: string) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#path = path;
  }

  fail(message: string, details: Record<string, unknown> = {}): never {
    throw new InvalidModelError(`${this.#path}: ${message}`, { details: { path: this.#path, ...details } });
  }

  /** Takes one punctuation character when it comes next. */
  takes(character: string): boolean {
    this.#skipSpace();
    if (this.#bytes[this.#at] !== character.charCodeAt(0)) return false;
    this.#at++;
    return true;
  }

  expect(character: string, where: string): void {
    if (!this.takes(character)) this.#unexpected(`"${character}"`, where);
  }

  /** Nothing but spaces may follow. */
  expectEnd(): void {
    this.#skipSpace();
    if (this.#at < this.#bytes.length) this.#unexpected('the end', 'after the header object');
  }

  /** @param maxBytes a longer string is refused */
  string(where: string, maxBytes = Number.POSITIVE_INFINITY): string {
    this.expect('"', where);
    const start = this.#at;
    let hasEscape = false;
    for (let at = start; at < this.#bytes.length; at++) {
      const byte = this.#bytes[at]!;
      if (byte === quote) {
        this.#at = at + 1;
        if (at - start > maxBytes)
          this.fail(`${where} is a string of ${at - start} bytes, at most ${maxBytes} are accepted.`);
        return hasEscape ? this.#unescape(start, at, where) : this.#bytes.toString('utf8', start, at);
      }
      if (byte === backslash) {
        hasEscape = true;
        at++;
      } else if (byte < 0x20) {
        this.#at = at;
        this.#unexpected('text without control characters', where);
      }
    }
    return this.fail(`the header ends inside a string (${where}).`);
  }

  /** A whole number from 0 to 2^53 − 1: digits alone, without sign, point or exponent. */
  wholeNumber(where: string): number {
    this.#skipSpace();
    const start = this.#at;
    let value = 0;
    for (; this.#at < this.#bytes.length; this.#at++) {
      const digit = this.#bytes[this.#at]! - 0x30;
      if (digit < 0 || digit > 9) break;
      value = value * 10 + digit;
      // Checked at every digit: beyond 2^53 the sum is no longer exact.
      if (!Number.isSafeInteger(value)) this.fail(`${where} is a number above 2^53.`);
    }
    const next = this.#bytes[this.#at];
    const endsWell = next === undefined || ', ]}\t\r\n'.includes(String.fromCharCode(next));
    if (this.#at === start || !endsWell) {
      this.#at = start;
      this.#unexpected('a whole number without sign', where);
    }
    if (this.#at - start > 1 && this.#bytes[start] === 0x30) this.fail(`${where} is a number with a leading zero.`);
    return value;
  }

  #unescape(start: number, end: number, where: string): string {
    try {
      return JSON.parse(this.#bytes.toString('utf8', start - 1, end + 1)) as string;
    } catch {
      return this.fail(`the header has a string with an invalid escape at byte ${start} (${where}).`);
    }
  }

  #unexpected(wanted: string, where: string): never {
    const found =
      this.#at >= this.#bytes.length
        ? 'the header ends'
        : `"${this.#bytes.toString('utf8', this.#at, this.#at + 20)}" is there`;
    return this.fail(`the header should have ${wanted} at byte ${this.#at} (${where}), but ${found}.`);
  }

  #skipSpace(): void {
    while (this.#at < this.#bytes.length) {
      const byte = this.#bytes[this.#at]!;
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return;
      this.#at++;
    }
  }
}
