import { expect, it } from 'vitest';
import { choice, empty, type Rules, repeat, rule, sequence, text } from './expression.ts';
import { prune } from './prune.ts';

it('keeps what ends and takes out what does not, wherever it stands', () => {
  const rules: Rules = new Map([
    ['root', choice(rule('endless'), sequence(text('a'), repeat(rule('endless'), 0)), rule('list'))],
    ['endless', sequence(text('x'), rule('endless'))],
    ['list', choice(text('b'), sequence(rule('list'), text('c')))],
    ['unused', text('d')],
  ]);
  expect(prune(rules, 'root')).toEqual(
    new Map([
      ['root', choice(sequence(text('a'), empty), rule('list'))],
      ['list', choice(text('b'), sequence(rule('list'), text('c')))],
    ]),
  );
});

it('leaves nothing of a grammar without a finite text', () => {
  const rules: Rules = new Map([
    ['root', repeat(rule('other'), 1)],
    ['other', choice(rule('root'), sequence(text('a'), rule('other')))],
  ]);
  expect(prune(rules, 'root').size).toBe(0);
  expect(prune(new Map([['root', choice()]]), 'root').size).toBe(0);
});
