import { InvalidArgumentError } from '@hearth/core';
import type { Graph, ValueId } from './graph.ts';

/**
 * The values whose boundaries are asked for, in the order of the graph.
 * @throws InvalidArgumentError for an unknown name, with the names that are nearest to it
 */
export function resolveCaptures(graph: Graph, captures: readonly string[] | 'all'): ReadonlySet<ValueId> {
  if (captures === 'all') return new Set(graph.values.keys());
  const byName = new Map(graph.values.map((value, id) => [value.name, id]));
  return new Set(
    captures.map((name) => {
      const id = byName.get(name);
      if (id !== undefined) return id;
      const near = nearestNames(name, [...byName.keys()], 3);
      throw new InvalidArgumentError(
        `${graph.name} has no boundary named "${name}". The nearest are ${near.map((other) => `"${other}"`).join(', ')}.`,
        { details: { name, near } },
      );
    }),
  );
}

/** The `count` names at the smallest edit distance, nearest first. */
function nearestNames(name: string, names: readonly string[], count: number): string[] {
  return names
    .map((other) => ({ other, distance: editDistance(name, other) }))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, count)
    .map(({ other }) => other);
}

/** Levenshtein distance: the fewest insertions, deletions and replacements of one character. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      current.push(Math.min(replaced, previous[j]! + 1, current[j - 1]! + 1));
    }
    previous = current;
  }
  return previous[b.length]!;
}
