import { expect, test } from 'vitest';
import { defaultCacheDirectory, expandHome, huggingFaceCacheDirectory, type Surroundings } from './cache-directory.ts';

function on(platform: NodeJS.Platform, env: Record<string, string> = {}): Surroundings {
  return { platform, env, homeDirectory: platform === 'win32' ? 'C:\\Users\\ä b' : '/home/ä b' };
}

test.each([
  ['linux', {}, '/home/ä b/.cache/hearth'],
  ['linux', { XDG_CACHE_HOME: '/var/cache' }, '/var/cache/hearth'],
  // The specification: relative paths there are invalid and ignored.
  ['linux', { XDG_CACHE_HOME: 'cache' }, '/home/ä b/.cache/hearth'],
  ['darwin', {}, '/home/ä b/Library/Caches/hearth'],
  ['win32', {}, 'C:\\Users\\ä b\\AppData\\Local\\hearth'],
  ['win32', { LOCALAPPDATA: 'D:\\Data' }, 'D:\\Data\\hearth'],
  ['linux', { HEARTH_CACHE: '/models' }, '/models'],
  ['linux', { HEARTH_CACHE: '~/models' }, '/home/ä b/models'],
  ['win32', { HEARTH_CACHE: 'E:\\models' }, 'E:\\models'],
] as const)('on %s with %j the cache is %s', (platform, env, expected) => {
  expect(defaultCacheDirectory(on(platform, env))).toBe(expected);
});

test.each([
  [{}, '/home/ä b/.cache/huggingface/hub'],
  [{ XDG_CACHE_HOME: '/var/cache' }, '/var/cache/huggingface/hub'],
  [{ HF_HOME: '/hf' }, '/hf/hub'],
  [{ HF_HOME: '/hf', HF_HUB_CACHE: '/hub' }, '/hub'],
])('with %j the Hugging Face cache is %s', (env, expected) => {
  expect(huggingFaceCacheDirectory(on('linux', env as Record<string, string>))).toBe(expected);
});

test('~ is expanded only where it stands for the home directory', () => {
  const linux = on('linux');
  expect(expandHome('~', linux)).toBe('/home/ä b');
  expect(expandHome('~/x', linux)).toBe('/home/ä b/x');
  expect(expandHome('~x', linux)).toBe('~x');
  expect(expandHome('a/~/x', linux)).toBe('a/~/x');
  expect(expandHome('~\\x', on('win32'))).toBe('C:\\Users\\ä b\\x');
});
