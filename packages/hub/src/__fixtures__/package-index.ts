import { sha256Of } from './bytes.ts';
import { answerFile, type ServerMode } from './file-server.ts';
import { startServer, type TestServer } from './http-server.ts';

export interface FakeIndex {
  /** Files of all projects, by name. */
  files: Record<string, Buffer>;
  project?: string;
  /** In place of the one project: the names of the files of each of several. */
  projects?: Record<string, readonly string[]>;
  format?: 'html' | 'json';
  mode?: ServerMode;
  /** `user:password` that every request must carry. */
  credentials?: string;
  /** Written instead of the true checksum. */
  statedSha256?: string;
  /** Where files are said to lie, instead of beside the index. */
  filesOrigin?: string;
  /** Called with the name of a file that is asked for, before it is answered. */
  onDownload?: (name: string) => void;
}

/** A package index at `/simple/`, with one project unless told otherwise; files at `/packages/`. */
export function startPackageIndex(index: FakeIndex): Promise<TestServer> {
  const { files, project = 'demo-model', format = 'html', credentials } = index;
  const projects = index.projects ?? { [project]: Object.keys(files) };
  let downloads = 0;
  return startServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://index');
    const expected = credentials && `Basic ${Buffer.from(credentials).toString('base64')}`;
    if (expected && request.headers.authorization !== expected) return void response.writeHead(401).end();
    const asked = /^\/simple\/([^/]+)\/$/.exec(url.pathname)?.[1];
    const names = asked === undefined ? undefined : projects[asked];
    if (names) {
      const links = names
        .map((name) => [name, files[name]!] as const)
        .map(([name, bytes]) => ({
          name,
          // Relative, as mirrors that serve their own copies write it.
          href: `${index.filesOrigin ?? '../..'}/packages/${name}`,
          sha256: index.statedSha256 ?? sha256Of(bytes),
          size: bytes.length,
        }));
      if (format === 'json') {
        response.writeHead(200, { 'content-type': 'application/vnd.pypi.simple.v1+json' });
        const listed = links.map(({ name, href, sha256, size }) => ({
          filename: name,
          url: href,
          hashes: { sha256 },
          size,
        }));
        return void response.end(JSON.stringify({ meta: { 'api-version': '1.1' }, name: asked, files: listed }));
      }
      response.writeHead(200, { 'content-type': 'text/html' });
      const anchors = links.map(
        ({ name, href, sha256 }) => `<a href="${href}#sha256=${sha256}" data-requires-python=">=3.9">${name}</a><br>`,
      );
      return void response.end(`<!DOCTYPE html><html><body>${anchors.join('\n')}</body></html>`);
    }
    const name = url.pathname.slice('/packages/'.length);
    const file = files[name];
    if (!file) return void response.writeHead(404).end();
    index.onDownload?.(name);
    return answerFile(request, response, file, index.mode ?? 'good', ++downloads);
  });
}
