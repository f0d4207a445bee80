import type { IncomingMessage, ServerResponse } from 'node:http';
import { gitIdOf, sha256Of } from './bytes.ts';
import { answerFile, type ServerMode } from './file-server.ts';
import { startServer, type TestServer } from './http-server.ts';

export interface FakeRepository {
  /** 40 hex digits. */
  commit: string;
  /** Names that lead to the commit besides itself. */
  refs?: string[];
  files: Record<string, Buffer>;
  /** Answers 401 without this token. */
  token?: string;
  gated?: boolean;
  mode?: ServerMode;
  /** What the listing says instead of the true checksum of a file. */
  statedSha256?: Record<string, string>;
}

/**
 * The parts of the Hugging Face hub that are used: revision, tree (in pages of two entries, as the real one pages by
 * 1,000), resolve. Files above 1 kB count as LFS files.
 */
export async function startHubServer(repositories: Record<string, FakeRepository>): Promise<TestServer> {
  let downloads = 0;
  const server = await startServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://hub');
    const parts = url.pathname.split('/').filter(Boolean).map(decodeURIComponent);
    if (parts[0] === 'api' && parts[1] === 'models') {
      const found = find(repositories, `${parts[2]}/${parts[3]}`, parts[5], request, response);
      if (!found) return;
      if (parts[4] === 'revision')
        return json(response, { _id: '1', id: `${parts[2]}/${parts[3]}`, sha: found.commit, lastModified: 0 });
      return tree(found, url, server.origin, response);
    }
    const found = find(repositories, `${parts[0]}/${parts[1]}`, parts[3], request, response);
    if (!found) return;
    const file = found.files[parts.slice(4).join('/')];
    if (parts[2] !== 'resolve' || !file) return void response.writeHead(404, { 'x-error-code': 'EntryNotFound' }).end();
    return answerFile(request, response, file, found.mode ?? 'good', ++downloads);
  });
  return server;
}

function find(
  repositories: Record<string, FakeRepository>,
  name: string,
  revision: string | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): FakeRepository | undefined {
  const found = repositories[name];
  const authorized = !found?.token || request.headers.authorization === `Bearer ${found.token}`;
  if (!found || !authorized) {
    response.writeHead(401, { 'x-error-code': 'RepoNotFound' }).end('{"error":"Invalid username or password."}');
    return undefined;
  }
  if (found.gated) {
    response.writeHead(403, { 'x-error-code': 'GatedRepo' }).end();
    return undefined;
  }
  if (revision !== found.commit && !['main', ...(found.refs ?? [])].includes(revision ?? '')) {
    response.writeHead(404, { 'x-error-code': 'RevisionNotFound' }).end();
    return undefined;
  }
  return found;
}

const PAGE = 2;

function tree(repository: FakeRepository, url: URL, origin: string, response: ServerResponse): void {
  const from = Number(url.searchParams.get('cursor') ?? 0);
  const entries = Object.entries(repository.files).map(([path, bytes]) => ({
    type: 'file',
    path,
    size: bytes.length,
    oid: bytes.length > 1000 ? '0'.repeat(40) : gitIdOf(bytes),
    ...(bytes.length > 1000
      ? { lfs: { oid: repository.statedSha256?.[path] ?? sha256Of(bytes), size: bytes.length, pointerSize: 130 } }
      : {}),
  }));
  if (from + PAGE < entries.length) {
    const next = new URL(url.pathname + url.search, origin);
    next.searchParams.set('cursor', String(from + PAGE));
    response.setHeader('link', `<${next.href}>; rel="next"`);
  }
  json(response, entries.slice(from, from + PAGE));
}

function json(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}
