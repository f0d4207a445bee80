import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';

/**
 * Threads that a backend takes when nobody says otherwise: the processors that this process may run on (its affinity), at
 * most what its control groups' quotas pay for, rounded up; on machines with many cores about a sixth of them is left to
 * the JavaScript thread and to others.
 */
export function defaultNumThreads(processors = availableParallelism(), quota = cgroupCpuLimit()): number {
  const usable = Math.max(1, Math.min(processors, Math.ceil(quota)));
  return usable - Math.floor(usable / 6);
}

/**
 * Processors that the control groups of this process allow, possibly a fraction; Infinity when none limits it. Every group on the
 * way up counts, in version 1 and version 2.
 *
 * @param root the directory that holds /proc and /sys, another one in tests
 */
export function cgroupCpuLimit(root = '/'): number {
  const limits: number[] = [];
  for (const line of readText(join(root, 'proc/self/cgroup')).split('\n')) {
    // hierarchy-id:controllers:path; version 2 has the id 0 and no controllers
    const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    if (controllers === undefined || path === undefined) continue;
    if (controllers === '') {
      limits.push(...walkUp(join(root, 'sys/fs/cgroup'), path).map(version2Limit));
    } else if (controllers.split(',').includes('cpu')) {
      for (const mount of new Set([controllers, 'cpu'])) {
        limits.push(...walkUp(join(root, 'sys/fs/cgroup', mount), path).map(version1Limit));
      }
    }
  }
  return Math.min(Number.POSITIVE_INFINITY, ...limits);
}

/** The directories of a group and its ancestors. In a container the path may not exist below the mount; then the mount itself counts. */
function walkUp(mount: string, path: string): string[] {
  const directories: string[] = [];
  for (let at = path; ; at = dirname(at)) {
    directories.push(join(mount, at));
    if (at === '/') return directories;
  }
}

/** `cpu.max`: "quota period" in microseconds, or "max period". */
function version2Limit(directory: string): number {
  const [quota, period] = readText(join(directory, 'cpu.max')).trim().split(' ');
  return ratio(quota, period);
}

/** A quota of −1 means none. */
function version1Limit(directory: string): number {
  return ratio(
    readText(join(directory, 'cpu.cfs_quota_us')).trim(),
    readText(join(directory, 'cpu.cfs_period_us')).trim(),
  );
}

function ratio(quota: string | undefined, period: string | undefined): number {
  const limit = Number.parseInt(quota ?? '', 10) / Number.parseInt(period ?? '', 10);
  return limit > 0 ? limit : Number.POSITIVE_INFINITY;
}

/** The text of a file, empty when there is none. */
function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
