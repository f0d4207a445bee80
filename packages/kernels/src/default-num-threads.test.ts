import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { cgroupCpuLimit, defaultNumThreads } from './default-num-threads.ts';

const roots: string[] = [];

afterEach(async () => {
  for (const root of roots.splice(0)) await rm(root, { recursive: true, force: true });
});

/** A directory that looks like the parts of / that matter. */
async function fakeRoot(files: Record<string, string>): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'hearth-cgroup-'));
  roots.push(root);
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  return root;
}

describe('cgroupCpuLimit', () => {
  const cases: [string, Record<string, string>, number][] = [
    ['no control groups', {}, Infinity],
    ['version 2 without a limit', { 'proc/self/cgroup': '0::/\n', 'sys/fs/cgroup/cpu.max': 'max 100000\n' }, Infinity],
    ['version 2', { 'proc/self/cgroup': '0::/a\n', 'sys/fs/cgroup/a/cpu.max': '250000 100000\n' }, 2.5],
    [
      'version 2, where a group further up allows less',
      {
        'proc/self/cgroup': '0::/a/b/c\n',
        'sys/fs/cgroup/a/cpu.max': '150000 100000\n',
        'sys/fs/cgroup/a/b/cpu.max': 'max 100000\n',
        'sys/fs/cgroup/a/b/c/cpu.max': '400000 100000\n',
      },
      1.5,
    ],
    [
      'version 2 in a container, whose path does not exist inside',
      { 'proc/self/cgroup': '0::/docker/0123\n', 'sys/fs/cgroup/cpu.max': '50000 100000\n' },
      0.5,
    ],
    [
      'version 1',
      {
        'proc/self/cgroup': '5:memory:/x\n3:cpu,cpuacct:/x/y\n1:name=systemd:/x\n',
        'sys/fs/cgroup/cpu,cpuacct/x/y/cpu.cfs_quota_us': '-1\n',
        'sys/fs/cgroup/cpu,cpuacct/x/y/cpu.cfs_period_us': '100000\n',
        'sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us': '300000\n',
        'sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us': '100000\n',
      },
      3,
    ],
    [
      'version 1 mounted as cpu',
      {
        'proc/self/cgroup': '3:cpuacct,cpu:/\n',
        'sys/fs/cgroup/cpu/cpu.cfs_quota_us': '200000\n',
        'sys/fs/cgroup/cpu/cpu.cfs_period_us': '50000\n',
      },
      4,
    ],
    ['nonsense', { 'proc/self/cgroup': '0::/\nwhat\n::\n', 'sys/fs/cgroup/cpu.max': 'a b c' }, Infinity],
  ];
  it.each(cases)('%s', async (_, files, limit) => {
    expect(cgroupCpuLimit(await fakeRoot(files))).toBe(limit);
  });
});

describe('defaultNumThreads', () => {
  it('is at least one and at most what the process may run on', () => {
    expect(defaultNumThreads()).toBeGreaterThanOrEqual(1);
    expect(defaultNumThreads()).toBeLessThanOrEqual(availableParallelism());
  });

  it.each([
    [1, 1],
    [2, 2],
    [5, 5],
    [6, 5],
    [8, 7],
    [12, 10],
    [64, 54],
  ])('on %i processors takes %i', (processors, threads) => {
    expect(defaultNumThreads(processors, Infinity)).toBe(threads);
  });

  it.each([
    [0.5, 1],
    [1.1, 2],
    [2, 2],
    [100, 7],
  ])('with a quota of %d on 8 processors takes %i', (quota, threads) => {
    expect(defaultNumThreads(8, quota)).toBe(threads);
  });
});
