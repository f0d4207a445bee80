import { InvalidArgumentError } from '../errors/errors.ts';
import { checkOpShapes, type Fail, isCount, rowsOf } from './check-op-shapes.ts';
import { opAccess } from './op-access.ts';
import type { Op, Program, RowKind, View } from './program.ts';

/**
 * Checks everything about a program that a backend relies on: ids and shapes agree, views lie in their buffers and buffers
 * in their arenas, an op writes over what it reads only where its definition says so, and no op reads columns that were
 * never written or were given to another buffer since.
 *
 * Backends call it once in `compile`.
 * @throws InvalidArgumentError that names the op and the rule
 */
export function checkProgram(program: Program): void {
  checkBuffers(program);
  checkCacheAndRopes(program);
  const contents = new ArenaContents(program);
  const captured = new Set<number>();
  for (const op of program.ops) {
    const fail: Fail = (message) => {
      throw new InvalidArgumentError(`Invalid program: op ${op.kind} "${op.name}" ${message}.`, {
        details: { op: op.name },
      });
    };
    const { reads, writes } = opAccess(op);
    for (const view of [...reads, ...writes]) checkView(program, view, fail);
    checkOpShapes(program, op, fail);
    checkOverlaps(program, op, reads, writes, fail);
    for (const view of reads) {
      if (!contents.holds(view)) fail(`reads ${describe(view)}, which was not written or was overwritten`);
    }
    for (const view of writes) contents.write(view);
    if (op.kind === 'write-cache') contents.cachedLayers.add(op.layer);
    if (op.kind === 'attention' && !contents.cachedLayers.has(op.layer))
      fail(`reads cache layer ${op.layer} unwritten`);
    if (op.kind === 'capture') {
      if (captured.has(op.capture)) fail(`captures ${op.capture} twice`);
      captured.add(op.capture);
    }
  }
  const fail: Fail = (message) => {
    throw new InvalidArgumentError(`Invalid program: ${message}.`);
  };
  if (captured.size !== program.captures.length) fail(`${program.captures.length - captured.size} captures have no op`);
  for (const [name, view, width] of [
    ['hidden', program.hidden, program.hiddenSize],
    ['logits', program.logits, program.vocabSize],
  ] as const) {
    checkView(program, view, fail);
    if (rowsOf(program, view) !== 'outputs') fail(`${name} must have rows of outputs`);
    if (view.width !== width) fail(`${name} is ${view.width} wide, expected ${width}`);
    if (!contents.holds(view)) fail(`${name} was overwritten or never written`);
  }
}

function checkBuffers(program: Program): void {
  for (const [index, { rows, width, offset }] of program.buffers.entries()) {
    const arenaWidth = program.arenaWidth[rows];
    if (!isCount(width) || width === 0 || !isCount(offset) || offset % 16 !== 0 || offset + width > arenaWidth) {
      throw new InvalidArgumentError(
        `Invalid program: buffer ${index} has offset ${offset} and width ${width}; the offset must be a multiple of 16 and the end within the ${rows} arena of ${arenaWidth}.`,
      );
    }
  }
}

function checkCacheAndRopes(program: Program): void {
  for (const [index, layer] of program.cacheLayers.entries()) {
    const { numKvHeads, headDim, group } = layer;
    if (!isCount(numKvHeads) || numKvHeads === 0 || !isCount(headDim) || headDim === 0 || !program.cacheGroups[group]) {
      throw new InvalidArgumentError(
        `Invalid program: cache layer ${index} has ${numKvHeads} KV heads of ${headDim} in group ${group}.`,
      );
    }
  }
  for (const [index, { invFreq, rotaryDim }] of program.ropes.entries()) {
    if (!isCount(rotaryDim) || rotaryDim === 0 || rotaryDim % 2 !== 0 || invFreq.length !== rotaryDim / 2) {
      throw new InvalidArgumentError(
        `Invalid program: rope ${index} has ${invFreq.length} frequencies for ${rotaryDim} rotating dimensions.`,
      );
    }
  }
}

function checkView(program: Program, view: View, fail: Fail): void {
  const buffer = program.buffers[view.buffer];
  if (!buffer) fail(`names buffer ${view.buffer}, there are ${program.buffers.length}`);
  if (!isCount(view.column) || !isCount(view.width) || view.width === 0 || view.column + view.width > buffer.width) {
    fail(`has ${describe(view)}, which is not within its ${buffer.width} columns`);
  }
}

/** An output may share memory with an input only when it is the same view and the op is defined in place. */
function checkOverlaps(program: Program, op: Op, reads: readonly View[], writes: readonly View[], fail: Fail): void {
  for (const [index, written] of writes.entries()) {
    for (const other of writes.slice(index + 1)) {
      if (overlap(program, written, other)) fail(`writes ${describe(written)} and ${describe(other)}, which overlap`);
    }
    for (const read of reads) {
      if (!overlap(program, written, read)) continue;
      const inPlace =
        ((op.kind === 'add' || op.kind === 'add-rms-norm') && read === op.residual && written === op.residual) ||
        ((op.kind === 'rope' || op.kind === 'softcap') && read === op.x && written === op.x) ||
        (op.kind === 'activation' && read === op.x && sameView(read, written)) ||
        (op.kind === 'gated-activation' && read === op.gate && sameView(read, written));
      if (!inPlace) fail(`writes ${describe(written)} over its input ${describe(read)}`);
    }
  }
}

/** Which buffer owns each column of the arenas, as the ops are walked. */
class ArenaContents {
  readonly cachedLayers = new Set<number>();
  readonly #program: Program;
  readonly #owners: Record<RowKind, Int32Array>;

  constructor(program: Program) {
    this.#program = program;
    this.#owners = {
      tokens: new Int32Array(program.arenaWidth.tokens).fill(-1),
      outputs: new Int32Array(program.arenaWidth.outputs).fill(-1),
    };
  }

  write(view: View): void {
    this.#columns(view).fill(view.buffer);
  }

  holds(view: View): boolean {
    return this.#columns(view).every((owner) => owner === view.buffer);
  }

  #columns(view: View): Int32Array {
    const { rows, offset } = this.#program.buffers[view.buffer]!;
    return this.#owners[rows].subarray(offset + view.column, offset + view.column + view.width);
  }
}

/**
 * Whether two views share memory. Columns of one buffer are interleaved by rows, so its views are compared by column;
 * different buffers are compared as wholes, because their rows have different lengths.
 */
function overlap(program: Program, a: View, b: View): boolean {
  if (a.buffer === b.buffer) return a.column < b.column + b.width && b.column < a.column + a.width;
  const x = program.buffers[a.buffer]!;
  const y = program.buffers[b.buffer]!;
  return x.rows === y.rows && x.offset < y.offset + y.width && y.offset < x.offset + x.width;
}

function sameView(a: View, b: View): boolean {
  return a.buffer === b.buffer && a.column === b.column && a.width === b.width;
}

function describe(view: View): string {
  return `columns ${view.column} to ${view.column + view.width} of buffer ${view.buffer}`;
}
