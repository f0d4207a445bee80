import { describe, expect, it } from 'vitest';
import { requireFastPeer } from './peer-build.ts';

const full = 'CPU : SSE3 = 1 | AVX = 1 | AVX2 = 1 | F16C = 1 | FMA = 1 | LLAMAFILE = 1 | REPACK = 1 | ';

describe('requireFastPeer', () => {
  it('takes a peer with everything', () => {
    expect(() => requireFastPeer(full, 'x64')).not.toThrow();
    expect(() => requireFastPeer('CPU : NEON = 1 | DOTPROD = 1 | REPACK = 1 | ', 'arm64')).not.toThrow();
  });

  it.each(['AVX2', 'FMA', 'F16C', 'REPACK'])('refuses one without %s', (name) => {
    const message = new RegExp(`does not count: it runs without ${name}\\.`);
    expect(() => requireFastPeer(full.replace(`${name} = 1 | `, ''), 'x64')).toThrow(message);
    expect(() => requireFastPeer(full.replace(`${name} = 1`, `${name} = 0`), 'x64')).toThrow(message);
    // Another name that ends or begins alike is another thing.
    expect(() => requireFastPeer(full.replace(name, `ARM_${name}_X`), 'x64')).toThrow(message);
  });

  it('says so where it cannot tell', () => {
    expect(() => requireFastPeer(full, 'riscv64')).toThrow(/not known for riscv64/);
  });
});
