import { cpus, totalmem } from 'node:os';
import type { ModelInfo } from '@hearth/engine';
import type { ResolvedModel } from '@hearth/hub';
import { sourceCommit } from './commit.ts';
import { cliVersion } from './version.ts';

/** What ran on what: the part of a JSON report that is needed to get it again. */
export async function runRecord(resolved: ResolvedModel, info: ModelInfo) {
  const { backend } = info;
  return {
    model: modelRecord(resolved, info),
    architecture: info.architecture,
    context_length: info.contextLength,
    cache_type: info.cacheDtype,
    backend: { kind: backend.kind, variant: backend.variant, threads: backend.numThreads },
    numerics_version: info.numericsVersion,
    machine: {
      platform: process.platform,
      architecture: process.arch,
      cpu: cpus()[0]?.model.trim() ?? 'unknown',
      cores: cpus().length,
      memory_bytes: totalmem(),
    },
    versions: { hearth: cliVersion(), node: process.versions.node },
    commit: await sourceCommit(),
  };
}

/** Which model it was, exactly. */
export function modelRecord(resolved: ResolvedModel, info: ModelInfo) {
  return { name: resolved.name, sha256: resolved.sha256 ?? null, fingerprint: info.fingerprint };
}
