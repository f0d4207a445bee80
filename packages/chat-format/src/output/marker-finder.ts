import { isBlankUnit } from './white-space.ts';

/**
 * Finds a marker such as `<think>` in text that comes one UTF-16 unit after another. It holds back what may be the
 * beginning of the marker and the white space before it, since that belongs to a marker that follows.
 */
export class MarkerFinder {
  readonly #marker: string;
  #blanks = '';
  #partial = '';

  /** `marker` must not hold its first unit again: what cannot go on is then no beginning of another one. */
  constructor(marker: string) {
    this.#marker = marker;
  }

  /** Takes the next unit and returns the text that is certainly not part of the marker; often empty. */
  push(unit: string): string {
    if (this.#marker.startsWith(this.#partial + unit)) {
      this.#partial += unit;
      return '';
    }
    const isBlank = isBlankUnit(unit);
    if (isBlank && this.#partial === '') {
      this.#blanks += unit;
      return '';
    }
    const released = this.take();
    return isBlank || this.#marker.startsWith(unit) ? released + this.push(unit) : released + unit;
  }

  /** Holds the unit back as if it were white space. */
  hold(unit: string): void {
    this.#blanks += unit;
  }

  /** Whether the marker has come to its end. */
  get isFound(): boolean {
    return this.#partial === this.#marker;
  }

  /** Whether the last units may be the beginning of the marker. */
  get isInMarker(): boolean {
    return this.#partial !== '';
  }

  /** Hands out what is held back and begins anew. */
  take(): string {
    const held = this.#blanks + this.#partial;
    this.#blanks = '';
    this.#partial = '';
    return held;
  }
}
