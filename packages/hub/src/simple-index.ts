import type { Digest } from './digest.ts';
import { DownloadError, ModelNotFoundError } from './errors.ts';
import { statusError } from './fetch-error.ts';
import { readAnchors } from './html-anchors.ts';
import { discardBody, type HttpClient, readBoundedText } from './http-client.ts';
import { redactUrl, splitCredentials } from './redact.ts';
import type { Timeouts } from './settings.ts';

/** One file of a project in a package index. */
export interface IndexFile {
  fileName: string;
  url: URL;
  digests: Digest[];
  sizeBytes: number | undefined;
}

/** A file of an index, and what to send to get it. */
export interface FoundIndexFile extends IndexFile {
  headers: Record<string, string>;
}

/** A project page lists every release; the largest on PyPI are a few MiB. 32 MiB. */
const MAX_PAGE_BYTES = 32 * 1024 * 1024;

/** JSON is preferred because it states sizes; the rest is what PEP 691 tells clients to send. */
const ACCEPT = 'application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1';

/** Address of a project in an index: names are compared without case, and `-`, `_`, `.` are the same (PEP 503). */
export function projectUrl(indexUrl: string | URL, project: string): URL {
  const url = new URL(indexUrl);
  const name = project.toLowerCase().replace(/[-_.]+/g, '-');
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/${name}/`;
  return url;
}

/**
 * Finds one file by name on an index page (PEP 503 HTML or PEP 691 JSON).
 *
 * Credentials in `pageUrl` go to that page and to files of the same origin, as pip does it, and nowhere else.
 * @throws ModelNotFoundError when the page lists no such file, DownloadError, AccessDeniedError
 */
export async function findIndexFile(
  pageUrl: URL,
  fileName: string,
  http: HttpClient,
  timeouts: Timeouts,
  signal: AbortSignal,
): Promise<FoundIndexFile> {
  const { url, authorization } = splitCredentials(pageUrl);
  const headers = { accept: ACCEPT, ...(authorization ? { authorization } : {}) };
  const response = await http.fetch(url, { headers, signal });
  const shown = redactUrl(url);
  if (response.status !== 200) {
    await discardBody(response);
    if (response.status === 404)
      throw new ModelNotFoundError(`${shown} does not exist: the index has no such project.`);
    throw statusError(response.status, shown);
  }
  const text = await readBoundedText(response, MAX_PAGE_BYTES, timeouts);
  const isJson = /[/+]json\b/.test(response.headers.get('content-type') ?? '');
  // Links are relative to where redirects have led.
  const files = isJson ? parseSimpleJson(text, response.url || url) : parseSimpleHtml(text, response.url || url);
  const found = files.find((file) => file.fileName === fileName || file.url.pathname.endsWith(`/${fileName}`));
  if (!found) {
    throw new ModelNotFoundError(
      `${shown} lists ${files.length} files, but not ${fileName}. The mirror may be behind; try another index with PIP_INDEX_URL.`,
    );
  }
  const own = splitCredentials(found.url);
  const credentials = own.authorization ?? (own.url.origin === url.origin ? authorization : undefined);
  return { ...found, url: own.url, headers: credentials ? { authorization: credentials } : {} };
}

/** Files of a PEP 691 page. Entries that are not understood are left out. */
export function parseSimpleJson(text: string, baseUrl: string | URL): IndexFile[] {
  let page: unknown;
  try {
    page = JSON.parse(text);
  } catch {
    throw new DownloadError(`${redactUrl(baseUrl)} answered with damaged JSON where an index page was expected.`);
  }
  const files = (page as { files?: unknown } | null)?.files;
  if (!Array.isArray(files)) {
    throw new DownloadError(`${redactUrl(baseUrl)} answered with JSON that is no package index page (PEP 691).`);
  }
  return files.flatMap((file: Record<string, unknown> | null) => {
    const url = resolveUrl(file?.url, baseUrl);
    if (typeof file?.filename !== 'string' || !url) return [];
    const hashes = typeof file.hashes === 'object' && file.hashes !== null ? Object.entries(file.hashes) : [];
    const digests = hashes.flatMap(([algorithm, hex]) => digestOf(algorithm, hex));
    const sizeBytes = Number.isSafeInteger(file.size) && (file.size as number) >= 0 ? (file.size as number) : undefined;
    return [{ fileName: file.filename, url, digests, sizeBytes }];
  });
}

/** Files of a PEP 503 page: every anchor, its text the file name, its fragment the checksum. */
export function parseSimpleHtml(text: string, baseUrl: string | URL): IndexFile[] {
  const { base, anchors } = readAnchors(text);
  const start = resolveUrl(base, baseUrl) ?? baseUrl;
  return anchors.flatMap((anchor) => {
    const url = resolveUrl(anchor.href, start);
    if (!url) return [];
    const fragment = new URLSearchParams(url.hash.slice(1));
    url.hash = '';
    const digests = [...fragment].flatMap(([algorithm, hex]) => digestOf(algorithm, hex));
    return [{ fileName: anchor.text, url, digests, sizeBytes: undefined }];
  });
}

function resolveUrl(href: unknown, baseUrl: string | URL): URL | undefined {
  return typeof href === 'string' && URL.canParse(href, baseUrl.toString()) ? new URL(href, baseUrl) : undefined;
}

/** Digest lengths in hex digits. Weaker algorithms (md5, sha1) prove nothing and are passed over: the model's own SHA-256 decides. */
const digestLengths = { sha256: 64, sha384: 96, sha512: 128 } as const;

function digestOf(algorithm: string, hex: unknown): Digest[] {
  const known = (['sha256', 'sha384', 'sha512'] as const).find((name) => name === algorithm.toLowerCase());
  if (!known || typeof hex !== 'string' || hex.length !== digestLengths[known] || !/^[0-9a-f]+$/i.test(hex)) return [];
  return [{ algorithm: known, hex: hex.toLowerCase() }];
}
