/** Finds something out about each key once, however many ask. A failure says nothing about the next time. */
export function oncePer<Key extends object, Value>(find: (key: Key) => Promise<Value>): (key: Key) => Promise<Value> {
  const known = new WeakMap<Key, Promise<Value>>();
  return (key) => {
    const before = known.get(key);
    if (before) return before;
    const value = find(key);
    known.set(key, value);
    value.catch(() => known.delete(key));
    return value;
  };
}
