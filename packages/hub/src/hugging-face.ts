import type { Digest } from './digest.ts';
import { AccessDeniedError, DownloadError, ModelNotFoundError } from './errors.ts';
import { statusError } from './fetch-error.ts';
import { discardBody, type HttpClient, readBoundedText } from './http-client.ts';
import { retrying } from './retry.ts';
import type { Settings } from './settings.ts';

/** One file of a repository at one commit. */
export interface RepositoryFile {
  /** Path inside the repository, with `/`. */
  path: string;
  sizeBytes: number;
  /** SHA-256 of large (LFS) files, git id of the others, as the hub states them. */
  digests: Digest[];
}

/** A repository as it was at one commit. */
export interface RepositorySnapshot {
  /** `organisation/name`. */
  repository: string;
  /** 40 hex digits. */
  commit: string;
  files: RepositoryFile[];
}

/** Model repositories hold tens of files, some data sets in disguise hold millions. */
const MAX_FILES = 20_000;

/** A page of the listing has at most 1,000 entries of a few hundred bytes. 16 MiB. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/**
 * Asks the hub what a repository holds at a revision (branch, tag or commit). Uses @huggingface/hub for the API.
 * @throws ModelNotFoundError, AccessDeniedError, DownloadError, AbortError
 */
export async function readRepository(
  repository: string,
  revision: string,
  settings: Settings,
  http: HttpClient,
  signal: AbortSignal,
): Promise<RepositorySnapshot> {
  // Loaded here, because a cached model does not need it.
  const { listFiles, modelInfo } = await import('@huggingface/hub');
  const request = { hubUrl: settings.endpoint, fetch: apiFetch(repository, revision, settings, http, signal) };
  const { sha: commit } = await modelInfo({ ...request, name: repository, revision, additionalFields: ['sha'] });
  if (typeof commit !== 'string' || !/^[0-9a-f]{40}$/.test(commit)) {
    throw new DownloadError(
      `${settings.endpoint} names no commit for ${repository}@${revision}; it may be no Hugging Face hub.`,
    );
  }
  const files: RepositoryFile[] = [];
  // By commit: a branch may move between two pages, and its name is not escaped by the library.
  for await (const entry of listFiles({ ...request, repo: repository, revision: commit, recursive: true })) {
    if (entry.type !== 'file') continue;
    if (typeof entry.path !== 'string' || !Number.isSafeInteger(entry.size) || entry.size < 0) continue;
    files.push({ path: entry.path, sizeBytes: entry.lfs?.size ?? entry.size, digests: digestsOf(entry) });
    if (files.length > MAX_FILES)
      throw new DownloadError(`${repository} holds more than ${MAX_FILES} files; it is no model.`);
  }
  return { repository, commit, files };
}

/** Address of a file at a commit. */
export function repositoryFileUrl(endpoint: string, repository: string, commit: string, file: string): string {
  return `${endpoint}/${repository}/resolve/${commit}/${file.split('/').map(encodeURIComponent).join('/')}`;
}

/** The token, for requests to the endpoint itself. Redirects to another host lose it. */
export function tokenHeaders({ token }: Settings): Record<string, string> {
  return token ? { authorization: `Bearer ${token}` } : {};
}

function digestsOf(entry: { oid?: string; lfs?: { oid: string } }): Digest[] {
  const sha256 = entry.lfs?.oid?.replace(/^sha256:/, '');
  if (sha256 && /^[0-9a-f]{64}$/.test(sha256)) return [{ algorithm: 'sha256', hex: sha256 }];
  // The git id of an LFS file is that of its pointer, so it counts for the other files only.
  if (!entry.lfs && entry.oid && /^[0-9a-f]{40}$/.test(entry.oid)) return [{ algorithm: 'git-sha1', hex: entry.oid }];
  return [];
}

/**
 * The `fetch` that @huggingface/hub is given (both calls are plain GETs): bounded answers, repeated when the server is busy, errors of our own, and the
 * token only for the endpoint (the library would send it wherever a `Link` header points).
 */
function apiFetch(
  repository: string,
  revision: string,
  settings: Settings,
  http: HttpClient,
  signal: AbortSignal,
): typeof fetch {
  const fetchOnce = async (input: string | URL | Request): Promise<Response> => {
    const url = new URL(input instanceof Request ? input.url : input);
    const own = url.origin === new URL(settings.endpoint).origin;
    const response = await http.fetch(url, {
      headers: { accept: 'application/json', ...(own ? tokenHeaders(settings) : {}) },
      signal,
    });
    if (!response.ok) {
      await discardBody(response);
      throw repositoryError(response.status, response.headers.get('x-error-code'), repository, revision, settings);
    }
    const text = await readBoundedText(response, MAX_ANSWER_BYTES, settings.timeouts);
    try {
      JSON.parse(text);
    } catch {
      throw new DownloadError(
        `${settings.endpoint} answered with something else than JSON; it may be no Hugging Face hub.`,
      );
    }
    const link = response.headers.get('link');
    return new Response(text, {
      headers: { 'content-type': 'application/json', ...(link ? { link } : {}) },
    });
  };
  return (input) => retrying(() => fetchOnce(input), settings.retry, signal);
}

/** The hub answers 401 for repositories that do not exist, so that private ones cannot be guessed. */
function repositoryError(
  status: number,
  code: string | null,
  repository: string,
  revision: string,
  { endpoint, token }: Settings,
): Error {
  const page = `${endpoint}/${repository}`;
  const details = { repository, revision, status };
  if (code === 'RevisionNotFound') {
    return new ModelNotFoundError(
      `${page} has no revision '${revision}'. Branches, tags and commits are listed there.`,
      {
        details,
      },
    );
  }
  if (code === 'GatedRepo') {
    const step = token ? 'with the account of the token' : 'and set HF_TOKEN to a token of that account';
    return new AccessDeniedError(`${repository} is gated: accept its terms at ${page} ${step}.`, { details });
  }
  if (status === 404 || code === 'RepoNotFound' || (status === 401 && !token)) {
    const hint = token
      ? 'Check the name, and that the token may read it.'
      : 'Check the name; if the repository is private, set HF_TOKEN.';
    return new ModelNotFoundError(`${page} holds no model that can be seen from here. ${hint}`, { details });
  }
  if (status === 401 || status === 403) {
    return new AccessDeniedError(
      `${endpoint} refused the token for ${repository} (status ${status}). Renew HF_TOKEN, or unset it for public models.`,
      { details },
    );
  }
  return statusError(status, page);
}
