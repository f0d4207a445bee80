// What a figure was measured on and with.
import { execFileSync } from 'node:child_process';
import { cpus } from 'node:os';

export function machineName(): string {
  return `${cpus()[0]?.model.trim()}, ${cpus().length} cores, Node ${process.versions.node}`;
}

/** The commit, with a mark when what is measured is not what was committed. */
export function commitName(): string {
  const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' }).trim();
  const changed = git('status', '--porcelain', '--', ':/packages');
  return git('rev-parse', '--short', 'HEAD') + (changed ? ' with changes' : '');
}
