/**
 * The items of several iterables as they come, from whichever is first. Leaving early leaves all of them.
 * @throws what the first of them throws
 */
export async function* inOrderOfArrival<Item>(iterables: readonly AsyncIterable<Item>[]): AsyncGenerator<Item> {
  // As nearly always, and then without the cost of a race.
  if (iterables.length === 1) return yield* iterables[0]!;
  const iterators = iterables.map((iterable) => iterable[Symbol.asyncIterator]());
  const next = async (index: number) => ({ index, result: await iterators[index]!.next() });
  const pending = new Map(iterators.map((_, index) => [index, next(index)]));
  try {
    while (pending.size > 0) {
      const { index, result } = await Promise.race(pending.values());
      if (result.done) {
        pending.delete(index);
        continue;
      }
      yield result.value;
      pending.set(index, next(index));
    }
  } finally {
    await Promise.allSettled(iterators.map((iterator) => iterator.return?.()));
  }
}
