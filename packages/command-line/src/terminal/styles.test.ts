import { describe, expect, it } from 'vitest';
import { canStyle, stylesFor } from './styles.ts';

const terminal = { isTTY: true };

describe('canStyle', () => {
  it('is true on a terminal', () => expect(canStyle(terminal, {})).toBe(true));
  it('is false in a pipe', () => expect(canStyle({ isTTY: false }, {})).toBe(false));
  it('obeys NO_COLOR', () => expect(canStyle(terminal, { NO_COLOR: '1' })).toBe(false));
  it('takes an empty NO_COLOR as unset', () => expect(canStyle(terminal, { NO_COLOR: '' })).toBe(true));
  it('leaves dumb terminals alone', () => expect(canStyle(terminal, { TERM: 'dumb' })).toBe(false));
});

describe('stylesFor', () => {
  it('returns text unchanged without a terminal', () => expect(stylesFor({ isTTY: false }, {}).bold('x')).toBe('x'));
  it('wraps text on a terminal', () => expect(stylesFor(terminal, {}).bold('x')).toBe('\u001b[1mx\u001b[22m'));
});
