import type { Op, Program, RowKind, View, WeightId } from './program.ts';

/** Throws, naming the op. */
export type Fail = (message: string) => never;

/** Checks that the widths of an op's views, its weights and its constants agree with each other. */
export function checkOpShapes(program: Program, op: Op, fail: Fail): void {
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

export function rowsOf(program: Program, view: View): RowKind {
  return program.buffers[view.buffer]!.rows;
}

export function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}
