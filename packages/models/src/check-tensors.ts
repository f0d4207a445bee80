import { InvalidModelError, type WeightSpec } from '@hearth/core';

/** A tensor that a checkpoint holds, by its Hugging Face name. */
export interface TensorShape {
  readonly name: string;
  readonly shape: readonly number[];
}

/** Names listed per kind of problem; a checkpoint of another model would fill pages otherwise. */
const maxListed = 8;

/**
 * Holds the tensors of a checkpoint against the weights that its model reads: none missing, none of another shape, none
 * left over. A model that loads with one of these answers nonsense.
 *
 * @param model weights, and the tensors that may be there beside them (see `ModelDefinition.ignoredTensors`)
 * @throws InvalidModelError that lists the tensors; `details` has `missing`, `wrongShape` and `leftOver` in full
 */
export function checkTensors(
  model: { readonly weights: readonly WeightSpec[]; readonly ignoredTensors: readonly RegExp[] },
  tensors: Iterable<TensorShape>,
): void {
  const shapes = new Map<string, readonly number[]>();
  for (const { name, shape } of tensors) shapes.set(name, shape);
  const expected = new Map(model.weights.map((weight) => [weight.name, storedShape(weight)]));

  const missing = model.weights.filter(({ name }) => !shapes.has(name));
  const wrongShape = model.weights.filter(({ name }) => {
    const found = shapes.get(name);
    return found !== undefined && found.join() !== expected.get(name)!.join();
  });
  const leftOver = [...shapes.keys()].filter(
    (name) => !expected.has(name) && !model.ignoredTensors.some((ignored) => ignored.test(name)),
  );

  const problems = [
    problem('missing', missing, ({ name }) => `${name} [${expected.get(name)}]`),
    problem('of another shape', wrongShape, ({ name }) => {
      return `${name} is [${shapes.get(name)}], the config asks for [${expected.get(name)}]`;
    }),
    problem('left over', leftOver, (name) => name),
  ].filter((text) => text !== null);
  if (problems.length === 0) return;
  throw new InvalidModelError(`The tensors do not fit the config: ${problems.join('; ')}.`, {
    details: { missing: missing.map(({ name }) => name), wrongShape: wrongShape.map(({ name }) => name), leftOver },
  });
}

/** The shape in the checkpoint, which holds some matrices as [columns, rows]. */
function storedShape({ shape, transposed = false }: WeightSpec): readonly number[] {
  return transposed ? shape.toReversed() : shape;
}

function problem<T>(what: string, items: readonly T[], describe: (item: T) => string): string | null {
  if (items.length === 0) return null;
  const listed = items.slice(0, maxListed).map(describe).join(', ');
  const more = items.length > maxListed ? ` and ${items.length - maxListed} more` : '';
  return `${items.length} ${what} (${listed}${more})`;
}
