import { describe, expect, it } from 'vitest';
import { isSendKey } from './is-send-key.ts';

const enter = { key: 'Enter', shiftKey: false, isComposing: false, keyCode: 13 };

describe('isSendKey', () => {
  it.each<[what: string, changes: Partial<typeof enter>, isSend: boolean]>([
    ['Enter', {}, true],
    ['Shift+Enter', { shiftKey: true }, false],
    ['another key', { key: 'a', keyCode: 65 }, false],
    ['Enter while an input method composes', { isComposing: true, keyCode: 229 }, false],
    ['Enter that has just ended a composition, as Safari tells it', { keyCode: 229 }, false],
  ])('%s', (_, changes, isSend) => {
    expect(isSendKey({ ...enter, ...changes })).toBe(isSend);
  });
});
