import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';

// Every entry of the kernel tables, in every variant, against the portable one, without JavaScript: what this processor has,
// and NEON in an emulator. What each entry printed is a line with the digest of what the portable variant computed.

const packageDir = fileURLToPath(new URL('..', import.meta.url));
const run = promisify(execFile);
/** Ten times what it takes on a busy machine. */
const watchdog = 1_200_000;

interface Report {
  readonly variants: readonly string[];
  /** Name of an entry, cases, values and digest. */
  readonly entries: readonly string[];
  readonly summary: string;
}

/** Rejects, with the differences in the message, unless all variants computed the same. */
async function testVariants(target: string): Promise<Report> {
  const { stdout } = await run(process.execPath, [join(packageDir, 'scripts/test-variants.mjs'), target]);
  const [first, ...lines] = stdout.trim().split('\n');
  return { variants: first!.split(' ').slice(1), entries: lines.slice(0, -1), summary: lines.at(-1)! };
}

const isInstalled = (tool: string) => spawnSync(tool, ['--version']).status === 0;
const missing = ['aarch64-linux-gnu-g++', 'aarch64-linux-gnu-nm', 'qemu-aarch64'].filter((tool) => !isInstalled(tool));

let host: Report;
beforeAll(async () => {
  host = await testVariants('host');
}, watchdog);

describe('the variants of this processor', () => {
  it('compute what the portable one computes, in every entry', () => {
    expect(host.variants).toContain('portable');
    // VNNI is tested where it is missing too. (A processor with AVX-512 or AVX-VNNI has AVX2.)
    if (host.variants.includes('avx2')) {
      expect(host.variants).toEqual(expect.arrayContaining(['emulated-vnni', 'emulated-vnni-16']));
    }
    expect(host.entries.length).toBeGreaterThan(40);
    expect(host.summary).toMatch(/^(\d+) of \1 entries compared$/);
  });
});

describe.skipIf(missing.length > 0)(`the NEON variants (needs ${missing.join(', ') || 'nothing more'})`, () => {
  it(
    'compute what the portable one computes, which is what it computes on this processor',
    async () => {
      const emulated = await testVariants('aarch64');
      expect(emulated.variants).toEqual(['neon-i8mm', 'neon-dotprod', 'portable']);
      expect(emulated.summary).toMatch(/^(\d+) of \1 entries compared$/);
      expect(emulated.entries).toEqual(host.entries);

      // As in environments.test.ts: nothing that the linker could choose for other variants.
      const objects = join(packageDir, 'build/variants-aarch64/CMakeFiles/kernels.dir/native/kernels');
      for (const [folder, isa] of [
        ['neon_dotprod', 'hearth::NeonDotprod'],
        ['neon_i8mm', 'hearth::NeonI8mm'],
      ] as const) {
        const files = readdirSync(join(objects, folder)).filter((file) => file.endsWith('.o'));
        expect(files).toHaveLength(3);
        for (const file of files) {
          const symbols = execFileSync('aarch64-linux-gnu-nm', ['-C', '--defined-only', join(objects, folder, file)], {
            encoding: 'utf8',
          });
          const weak = symbols.split('\n').filter((line) => /^\S+ [WVu] /.test(line));
          expect(weak.length).toBeGreaterThan(0);
          expect(weak.filter((line) => !line.includes(isa))).toEqual([]);
        }
      }
    },
    watchdog,
  );
});
