import { InvalidArgumentError } from '../errors/errors.ts';
import type { Op, Program, RowKind, View, WeightId } from './program.ts';

/** What an op reads and writes, for checks that do not care which op it is. */
export interface OpAccess {
  readonly reads: readonly View[];
  /** Views whose whole content is new afterwards. A view that is in `reads` too is updated in place. */
  readonly writes: readonly View[];
}

/** The views that an op reads and writes. */
export function opAccess(op: Op): OpAccess {
  switch (op.kind) {
    case 'embed':
    case 'rope-table':
      return { reads: [], writes: [op.out] };
    case 'rms-norm':
    case 'layer-norm':
    case 'linear':
    case 'activation':
    case 'gather-rows':
      return { reads: [op.x], writes: [op.out] };
    case 'add-rms-norm':
      return { reads: [op.residual, op.delta], writes: [op.residual, op.out] };
    case 'add':
      return { reads: [op.residual, op.delta], writes: [op.residual] };
    case 'rope':
      return { reads: [op.x, op.table], writes: [op.x] };
    case 'write-cache':
      return { reads: [op.k, op.v], writes: [] };
    case 'attention':
      return { reads: [op.q], writes: [op.out] };
    case 'gated-activation':
      return { reads: [op.gate, op.up], writes: [op.out] };
    case 'softcap':
      return { reads: [op.x], writes: [op.x] };
    case 'moe-mlp':
      return { reads: [op.x, op.routerLogits], writes: [op.out] };
    case 'capture':
      return { reads: [op.x], writes: [] };
  }
}

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
    checkShapes(program, op, fail);
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

type Fail = (message: string) => never;

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

function checkShapes(program: Program, op: Op, fail: Fail): void {
  const sameRows = (...views: View[]): void => {
    if (new Set(views.map((view) => rowsOf(program, view))).size > 1) fail('mixes rows of tokens and of outputs');
  };
  const tokenRows = (...views: View[]): void => {
    if (views.some((view) => rowsOf(program, view) !== 'tokens')) fail('must work on rows of tokens');
  };
  const width = (what: string, view: View, expected: number): void => {
    if (view.width !== expected) fail(`has ${what} of width ${view.width}, expected ${expected}`);
  };
  const weight = (id: WeightId, ...shape: number[]): void => {
    const spec = program.weights[id];
    if (!spec) fail(`names weight ${id}, there are ${program.weights.length}`);
    const role = shape.length === 2 ? 'matrix' : 'vector';
    if (spec.role !== role || spec.shape.join() !== shape.join()) {
      fail(`needs the ${role} ${spec.name} of [${shape}], it is a ${spec.role} of [${spec.shape}]`);
    }
  };
  switch (op.kind) {
    case 'embed':
      tokenRows(op.out);
      if (op.ids === 'tokens') weight(op.weight, program.vocabSize, op.out.width);
      else {
        const rows = program.weights[op.weight]?.shape[0] ?? 0;
        weight(op.weight, rows, op.out.width);
        if (rows < program.contextLength) fail(`has ${rows} positions for a context of ${program.contextLength}`);
      }
      break;
    case 'rope-table': {
      tokenRows(op.out);
      const rope = program.ropes[op.rope] ?? fail(`names rope ${op.rope}, there are ${program.ropes.length}`);
      width('out', op.out, rope.rotaryDim);
      break;
    }
    case 'rms-norm':
      sameRows(op.x, op.out);
      width('out', op.out, op.x.width);
      {
        const groupWidth = program.weights[op.weight]?.shape[0] ?? 0;
        weight(op.weight, groupWidth);
        if (op.x.width % groupWidth !== 0) fail(`has groups of ${groupWidth} in a width of ${op.x.width}`);
      }
      break;
    case 'layer-norm':
      sameRows(op.x, op.out);
      width('out', op.out, op.x.width);
      weight(op.weight, op.x.width);
      weight(op.bias, op.x.width);
      break;
    case 'add-rms-norm':
      sameRows(op.residual, op.delta, op.out);
      width('delta', op.delta, op.residual.width);
      width('out', op.out, op.residual.width);
      weight(op.weight, op.residual.width);
      break;
    case 'add':
      sameRows(op.residual, op.delta);
      width('delta', op.delta, op.residual.width);
      break;
    case 'linear': {
      sameRows(op.x, op.out);
      if (op.weights.length === 0 || op.biases.length !== op.weights.length) {
        fail(`has ${op.weights.length} weights and ${op.biases.length} biases`);
      }
      let outWidth = 0;
      for (const [part, id] of op.weights.entries()) {
        const rows = program.weights[id]?.shape[0] ?? 0;
        weight(id, rows, op.x.width);
        const bias = op.biases[part];
        if (bias !== null && bias !== undefined) weight(bias, rows);
        outWidth += rows;
      }
      width('out', op.out, outWidth);
      break;
    }
    case 'rope':
      tokenRows(op.x, op.table);
      width('table', op.table, op.rotaryDim);
      if (op.rotaryDim > op.headDim || op.rotaryDim % 2 !== 0 || op.x.width % op.headDim !== 0) {
        fail(`rotates ${op.rotaryDim} of ${op.headDim} dimensions in a width of ${op.x.width}`);
      }
      break;
    case 'write-cache': {
      tokenRows(op.k, op.v);
      const layer = program.cacheLayers[op.layer] ?? fail(`names cache layer ${op.layer}`);
      width('k', op.k, layer.numKvHeads * layer.headDim);
      width('v', op.v, layer.numKvHeads * layer.headDim);
      break;
    }
    case 'attention': {
      tokenRows(op.q, op.out);
      const layer = program.cacheLayers[op.layer] ?? fail(`names cache layer ${op.layer}`);
      if (!isCount(op.numHeads) || op.numHeads === 0 || op.numHeads % layer.numKvHeads !== 0) {
        fail(`has ${op.numHeads} heads, which is no multiple of ${layer.numKvHeads} KV heads`);
      }
      width('q', op.q, op.numHeads * layer.headDim);
      width('out', op.out, op.numHeads * layer.headDim);
      if (op.window !== null && (!isCount(op.window) || op.window === 0)) fail(`has a window of ${op.window}`);
      if (op.softcap !== null && !(Math.fround(op.softcap) > 0)) fail(`has a softcap of ${op.softcap}`);
      break;
    }
    case 'gated-activation':
      sameRows(op.gate, op.up, op.out);
      width('up', op.up, op.gate.width);
      width('out', op.out, op.gate.width);
      break;
    case 'activation':
      sameRows(op.x, op.out);
      width('out', op.out, op.x.width);
      break;
    case 'softcap':
      if (!(op.cap > 0)) fail(`has a cap of ${op.cap}`);
      break;
    case 'moe-mlp': {
      sameRows(op.x, op.routerLogits, op.out);
      width('out', op.out, op.x.width);
      const numExperts = op.gates.length;
      width('routerLogits', op.routerLogits, numExperts);
      if (op.ups.length !== numExperts || op.downs.length !== numExperts) {
        fail(`has ${numExperts} gates, ${op.ups.length} ups and ${op.downs.length} downs`);
      }
      const k = op.numExpertsPerToken;
      if (!isCount(k) || k === 0 || k > numExperts) fail(`chooses ${k} of ${numExperts} experts`);
      const expertWidth = program.weights[op.gates[0]!]?.shape[0] ?? 0;
      for (const id of [...op.gates, ...op.ups]) weight(id, expertWidth, op.x.width);
      for (const id of op.downs) weight(id, op.x.width, expertWidth);
      break;
    }
    case 'gather-rows':
      tokenRows(op.x);
      if (rowsOf(program, op.out) !== 'outputs') fail('must write rows of outputs');
      width('out', op.out, op.x.width);
      break;
    case 'capture': {
      const capture = program.captures[op.capture] ?? fail(`names capture ${op.capture}`);
      width('x', op.x, capture.width);
      if (capture.rows !== rowsOf(program, op.x)) fail(`captures rows of ${rowsOf(program, op.x)} as ${capture.rows}`);
      break;
    }
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

function rowsOf(program: Program, view: View): RowKind {
  return program.buffers[view.buffer]!.rows;
}

function describe(view: View): string {
  return `columns ${view.column} to ${view.column + view.width} of buffer ${view.buffer}`;
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}
