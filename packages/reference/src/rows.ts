import type { Program, RowKind, View } from '@hearth/core';

/**
 * Columns of a row-major buffer: row t is `data[offset + t · stride … + width)`. Ops take their matrices in this form, so
 * that a part of a merged projection needs no copy.
 */
export interface Rows {
  readonly data: Float32Array;
  readonly offset: number;
  readonly stride: number;
  readonly width: number;
}

/** The two arenas of an executable, and the rows that a program's views stand for in them. */
export class Arenas {
  readonly #program: Program;
  readonly #capacity: Readonly<Record<RowKind, number>>;
  readonly #data: Readonly<Record<RowKind, Float32Array>>;

  constructor(program: Program, capacity: Readonly<Record<RowKind, number>>) {
    this.#program = program;
    this.#capacity = capacity;
    this.#data = {
      tokens: new Float32Array(program.arenaWidth.tokens * capacity.tokens),
      outputs: new Float32Array(program.arenaWidth.outputs * capacity.outputs),
    };
  }

  rows(view: View): Rows {
    const buffer = this.#program.buffers[view.buffer]!;
    return {
      data: this.#data[buffer.rows],
      offset: buffer.offset * this.#capacity[buffer.rows] + view.column,
      stride: buffer.width,
      width: view.width,
    };
  }

  kind(view: View): RowKind {
    return this.#program.buffers[view.buffer]!.rows;
  }
}

/** The first `numRows` rows, tight: [numRows, width]. */
export function copyRows({ data, offset, stride, width }: Rows, numRows: number): Float32Array {
  const copy = new Float32Array(numRows * width);
  for (let t = 0; t < numRows; t++) {
    const start = offset + t * stride;
    copy.set(data.subarray(start, start + width), t * width);
  }
  return copy;
}
