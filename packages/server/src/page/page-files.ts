import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join, relative, sep } from 'node:path';

/** Answers requests for the files of a page; undefined for everything else. */
export type PageHandler = (request: Request) => Response | undefined;

/** The encodings that files may lie beside them in, the best first. */
const encodings = [
  { name: 'br', extension: '.br' },
  { name: 'gzip', extension: '.gz' },
] as const;

type EncodingName = (typeof encodings)[number]['name'];

interface PageFile {
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly encoded: ReadonlyMap<EncodingName, Uint8Array<ArrayBuffer>>;
}

const contentTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
  '.json': 'application/json',
};

/**
 * What the page may do: load its own files and ask its own server. Nothing that a model writes can run in it, load from
 * elsewhere, or send anything away.
 */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

/** Bundlers put a hash of the content into the names of the files in here. */
const hashedFolder = 'assets/';

/**
 * Reads the files of a page into memory, each with what is compressed of it (`name.br`, `name.gz`). `index.html` is the page
 * itself, at `/`.
 *
 * @throws what reading the directory throws
 */
export async function readPageFiles(directory: string): Promise<PageHandler> {
  const files = new Map<string, PageFile>();
  const names = await namesIn(directory);
  for (const name of names) {
    if (encodings.some(({ extension }) => name.endsWith(extension))) continue;
    const encoded = new Map<EncodingName, Uint8Array<ArrayBuffer>>();
    for (const { name: encoding, extension } of encodings) {
      if (names.includes(name + extension)) encoded.set(encoding, await bytesOf(join(directory, name + extension)));
    }
    const bytes = await bytesOf(join(directory, name));
    files.set(`/${name === 'index.html' ? '' : name}`, { headers: headersOf(name, bytes), bytes, encoded });
  }
  return (request) => {
    const file = files.get(new URL(request.url).pathname);
    return file && answer(file, request.headers);
  };
}

function answer({ headers, bytes, encoded }: PageFile, requested: Headers): Response {
  if (isKnown(headers.ETag!, requested.get('if-none-match'))) return new Response(null, { status: 304, headers });
  const accepted = requested.get('accept-encoding') ?? '';
  const best = encodings.find(({ name }) => encoded.has(name) && accepts(accepted, name));
  if (!best) return new Response(bytes, { headers });
  return new Response(encoded.get(best.name)!, { headers: { ...headers, 'Content-Encoding': best.name } });
}

function headersOf(name: string, bytes: Uint8Array): Record<string, string> {
  const isHashed = name.startsWith(hashedFolder);
  return {
    'Content-Type': contentTypes[extname(name)] ?? 'application/octet-stream',
    'Cache-Control': isHashed ? 'public, max-age=31536000, immutable' : 'no-cache',
    // Weak: the encodings are other bytes of the same content.
    ETag: `W/"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`,
    Vary: 'Accept-Encoding',
    'Content-Security-Policy': contentSecurityPolicy,
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Referrer-Policy': 'no-referrer',
  };
}

/** Whether a header such as `gzip, br;q=0.5` names the encoding, and not as one that is refused. */
function accepts(header: string, encoding: string): boolean {
  return header.split(',').some((item) => {
    const [name = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase());
    return name === encoding && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}

function isKnown(tag: string, header: string | null): boolean {
  return header?.split(',').some((known) => known.trim() === tag) ?? false;
}

async function bytesOf(path: string): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await readFile(path));
}

/** Paths within the directory, with slashes. */
async function namesIn(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)).split(sep).join('/'));
}
