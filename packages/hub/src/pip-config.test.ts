import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from './__fixtures__/temporary-directory.ts';
import { surroundingsOf } from './cache-directory.ts';
import { parseIni, readPipConfiguration } from './pip-config.ts';

/** A home whose global files are in `etc`; the real /etc/pip.conf is out of reach only through `PIP_CONFIG_FILE`. */
async function setUp(files: Record<string, string>, env: Record<string, string> = {}) {
  const home = await temporaryDirectory();
  for (const [name, text] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(home, name)), { recursive: true });
    await writeFile(path.join(home, name), text);
  }
  const resolved = Object.fromEntries(
    Object.entries(env).map(([key, value]) => [key, value.replace('HOME/', `${home}/`)]),
  );
  return readPipConfiguration({ ...surroundingsOf({ HOME: home, ...resolved }), platform: 'linux' });
}

test('without any configuration the index is PyPI', async () => {
  const pip = await setUp({}, { PIP_CONFIG_FILE: '/dev/null' });
  expect(pip).toEqual({ indexUrls: ['https://pypi.org/simple'], findLinks: [], certificateFile: undefined });
});

test('later files win: global, user, virtual environment, PIP_CONFIG_FILE, variable', async () => {
  const files = {
    'etc/pip/pip.conf': '[global]\nindex-url = https://global/\ncert = /global.pem\n',
    '.pip/pip.conf': '[global]\nindex-url = https://legacy/\n',
    '.config/pip/pip.conf': '[global]\nindex-url = https://user/\n',
    'venv/pip.conf': '[global]\nindex-url = https://site/\n',
    'named.conf': '[global]\nindex-url = https://named/\n',
  };
  const env: Record<string, string> = { XDG_CONFIG_DIRS: 'HOME/etc' };
  // A pip.conf of the test machine would come between the first two.
  expect(
    (await setUp({ ...files, '.config/pip/pip.conf': '', '.pip/pip.conf': files['etc/pip/pip.conf'] }, env))
      .certificateFile,
  ).toBe('/global.pem');
  expect((await setUp(files, env)).indexUrls).toEqual(['https://user/']);
  env.VIRTUAL_ENV = 'HOME/venv';
  expect((await setUp(files, env)).indexUrls).toEqual(['https://site/']);
  env.PIP_CONFIG_FILE = 'HOME/named.conf';
  expect((await setUp(files, env)).indexUrls).toEqual(['https://named/']);
  env.PIP_INDEX_URL = 'https://variable/';
  expect((await setUp(files, env)).indexUrls).toEqual(['https://variable/']);
  env.PIP_INDEX_URL = '';
  expect((await setUp(files, env)).indexUrls).toEqual(['https://named/']);
});

test('the null device as PIP_CONFIG_FILE switches all files off', async () => {
  const files = { '.config/pip/pip.conf': '[global]\nindex-url = https://user/\n' };
  expect((await setUp(files, { PIP_CONFIG_FILE: '/dev/null' })).indexUrls).toEqual(['https://pypi.org/simple']);
});

test('extra indexes follow the index, over several lines or words', async () => {
  const text = '[global]\nindex-url: https://a/simple\nextra-index-url =\n    https://b/simple\n    https://c/simple\n';
  expect((await setUp({ 'pip.conf': text }, { PIP_CONFIG_FILE: 'HOME/pip.conf' })).indexUrls).toEqual([
    'https://a/simple',
    'https://b/simple',
    'https://c/simple',
  ]);
  const env = { PIP_CONFIG_FILE: '/dev/null', PIP_EXTRA_INDEX_URL: 'https://b/ https://c/' };
  expect((await setUp({}, env)).indexUrls).toEqual(['https://pypi.org/simple', 'https://b/', 'https://c/']);
});

test('the section of the command wins over [global], whatever the order of files', async () => {
  const text =
    '[download]\nindex-url = https://download/\n[install]\nindex_url = https://install/\n[global]\nindex-url = https://global/\n';
  expect((await setUp({ 'pip.conf': text }, { PIP_CONFIG_FILE: 'HOME/pip.conf' })).indexUrls).toEqual([
    'https://download/',
  ]);
});

test('no-index leaves find-links alone', async () => {
  const env = { PIP_CONFIG_FILE: '/dev/null', PIP_NO_INDEX: '1', PIP_FIND_LINKS: '/wheels https://w/' };
  expect(await setUp({}, env)).toMatchObject({ indexUrls: [], findLinks: ['/wheels', 'https://w/'] });
});

test('certificates are those of the cert option, else of the variables that pip follows', async () => {
  const env: Record<string, string> = { PIP_CONFIG_FILE: '/dev/null', SSL_CERT_FILE: '/ssl.pem' };
  expect((await setUp({}, env)).certificateFile).toBe('/ssl.pem');
  env.REQUESTS_CA_BUNDLE = '/requests.pem';
  expect((await setUp({}, env)).certificateFile).toBe('/requests.pem');
  env.PIP_CERT = '/pip.pem';
  expect((await setUp({}, env)).certificateFile).toBe('/pip.pem');
});

test('reads INI as RawConfigParser does', () => {
  const sections = parseIni(
    '\uFEFF; comment\n[Global]\n# comment\nIndex_URL = https://u:p%40@h/?a=b;c # no comment\n[x]\r\n--cert: /a b.pem\r\nbroken line\n',
  );
  expect(sections.get('Global')?.get('index-url')).toBe('https://u:p%40@h/?a=b;c # no comment');
  expect(sections.get('x')?.get('cert')).toBe('/a b.pem');
  expect(parseIni('key = before any section\n').size).toBe(0);
});
