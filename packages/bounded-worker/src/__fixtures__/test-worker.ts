import { threadId } from 'node:worker_threads';
import { InvalidModelError } from '@hearth/core';
import { serve, withTransfer } from '../serve.ts';
import { OwnError } from './own-error.ts';

export interface TestInit {
  greeting: string;
  failAtStart?: 'throw' | 'exit' | 'hang';
}

function createMethods(init: TestInit) {
  if (init.failAtStart === 'throw')
    throw new InvalidModelError('The greeting is damaged.', { details: { key: 'greeting' } });
  if (init.failAtStart === 'exit') process.exit(3);
  if (init.failAtStart === 'hang') for (;;);
  const calls: string[] = [];
  return {
    greet: (name: string) => `${init.greeting}, ${name}!`,
    remember: (word: string) => {
      calls.push(word);
      return calls;
    },
    threadId: () => threadId,
    spin: () => {
      for (;;);
    },
    backtrack: () => /^(a+)+$/.test(`${'a'.repeat(40)}b`),
    /** Many small objects, which V8's limit catches; see `heapLimitMiB` for why not one large one. */
    eatMemory: () => {
      const kept: object[] = [];
      for (;;) kept.push({ index: kept.length });
    },
    repeat: ({ text, times }: { text: string; times: number }) => text.repeat(times),
    ids: (count: number) => {
      const ids = Int32Array.from({ length: count }, (_, index) => index);
      return withTransfer(ids, [ids.buffer]);
    },
    later: async (value: number) => value + 1,
    failWith: (kind: 'model' | 'own' | 'plain' | 'string' | 'uncloneable' | 'long') => {
      if (kind === 'model') throw new InvalidModelError('No such key.', { details: { key: 'a.b', line: 7 } });
      if (kind === 'own') throw new OwnError('Mine.', { details: { index: 3 } });
      if (kind === 'uncloneable') throw new InvalidModelError('Odd.', { details: { odd: () => 1, fine: 2 } });
      if (kind === 'long') throw new Error('x'.repeat(1_000_000));
      if (kind === 'string') throw 'just a string';
      throw new TypeError('cannot read it');
    },
    giveFunction: () => () => 1,
    exit: () => process.exit(7),
    throwOutside: () => {
      setTimeout(() => {
        throw new RangeError('nobody catches this');
      });
      return new Promise<never>(() => {});
    },
  };
}

export type TestMethods = ReturnType<typeof createMethods>;

serve<TestInit, TestMethods>(createMethods);
