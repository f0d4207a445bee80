import type { OutputEvent } from '@hearth/chat-format';
import { describe, expect, it } from 'vitest';
import { WholeCalls } from './whole-calls.ts';

const start = (index: number): OutputEvent => ({ type: 'toolCallStart', index, id: `call_${index}`, name: 'dice' });
const part = (index: number, text: string): OutputEvent => ({ type: 'toolCallArguments', index, text });
const end = (index: number): OutputEvent => ({ type: 'toolCallEnd', index });
const broken = (index: number): OutputEvent => ({ type: 'toolCallBroken', index, text: '<tool_call>{' });
const text: OutputEvent = { type: 'content', text: 'hi' };

describe('calls that nothing constrains', () => {
  const make = (mostCalls = 9) => new WholeCalls({ areCertain: false, mostCalls });

  it('are held back until they are whole; text is not', () => {
    const calls = make();
    expect(calls.pass([text, start(0), part(0, '{')])).toEqual([text]);
    expect(calls.pass([part(0, '}')])).toEqual([]);
    expect(calls.pass([end(0)])).toEqual([start(0), part(0, '{}'), end(0)]);
    expect([calls.numCalls, calls.isBroken]).toEqual([1, false]);
  });

  it('are content when they are none, and leave no gap in the numbers', () => {
    const calls = make();
    expect(calls.pass([start(0), broken(0)])).toEqual([{ type: 'content', text: '<tool_call>{' }]);
    expect(calls.isBroken).toBe(true);
    expect(calls.pass([start(1), part(1, '{}'), end(1)])).toEqual([
      { type: 'toolCallStart', index: 0, id: 'call_1', name: 'dice' },
      part(0, '{}'),
      end(0),
    ]);
    expect(calls.isBroken).toBe(false);
  });

  it('are left out beyond the most that are wanted', () => {
    const calls = make(1);
    expect(calls.pass([start(0), part(0, '{}'), end(0), start(1), part(1, '{}'), end(1), text])).toEqual([
      start(0),
      part(0, '{}'),
      end(0),
      text,
    ]);
  });
});

describe('calls that are certain', () => {
  it('go on as they come, and of a broken one nothing more is said', () => {
    const calls = new WholeCalls({ areCertain: true, mostCalls: 9 });
    expect(calls.pass([start(0), part(0, '{')])).toEqual([start(0), part(0, '{')]);
    expect(calls.pass([part(0, '}'), end(0), start(1)])).toEqual([part(0, '}'), end(0), start(1)]);
    expect(calls.pass([broken(1)])).toEqual([]);
    expect([calls.numCalls, calls.isBroken]).toEqual([1, true]);
  });
});
