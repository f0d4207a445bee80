import { expect, it } from 'vitest';
import { dataDirectory } from './data-directory.ts';

it.each([
  ['linux', {}, '/home/ä b/.local/share/hearth'],
  ['linux', { XDG_DATA_HOME: '/data' }, '/data/hearth'],
  ['linux', { XDG_DATA_HOME: 'data' }, '/home/ä b/.local/share/hearth'],
  ['darwin', { XDG_DATA_HOME: '/data' }, '/home/ä b/Library/Application Support/hearth'],
  ['win32', {}, 'C:\\Users\\ä b\\AppData\\Local\\hearth'],
  ['win32', { LOCALAPPDATA: 'D:\\Data' }, 'D:\\Data\\hearth'],
] as const)('on %s with %j it is %s', (platform, env, expected) => {
  const homeDirectory = platform === 'win32' ? 'C:\\Users\\ä b' : '/home/ä b';
  expect(dataDirectory({ platform, env, homeDirectory })).toBe(expected);
});
