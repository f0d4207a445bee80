import { describe, expect, it } from 'vitest';
import { currentPlatform, KernelsLoadError, loadAddon, loadFirst, platformPackageName } from './load-addon.ts';

describe('loadAddon', () => {
  it('loads once', () => {
    expect(loadAddon()).toBe(loadAddon());
  });

  it('knows which package a platform needs', () => {
    expect(platformPackageName({ platform: 'linux', arch: 'x64', isMusl: false })).toBe('@hearth/kernels-linux-x64');
    expect(platformPackageName({ platform: 'linux', arch: 'arm64', isMusl: true })).toBe(
      '@hearth/kernels-linux-arm64-musl',
    );
    expect(platformPackageName({ platform: 'darwin', arch: 'arm64', isMusl: false })).toBe(
      '@hearth/kernels-darwin-arm64',
    );
    expect(currentPlatform()).toMatchObject({ platform: process.platform, arch: process.arch });
  });
});

describe('loadFirst', () => {
  const failing = (name: string, message: string) => ({
    name,
    load: () => {
      throw new Error(`${message}\nRequire stack:\n- somewhere`);
    },
  });
  const linux = { platform: 'linux', arch: 'x64', isMusl: false };

  it('takes the first that loads', () => {
    const good = { name: 'good', load: () => 'addon' };
    expect(loadFirst([failing('bad', 'no'), good, failing('never', 'tried')], linux)).toBe('addon');
  });

  it('explains when none does: what was tried, where, and what may help', () => {
    const load = () =>
      loadFirst([failing('local', 'Cannot find module x'), failing('package', "GLIBC_2.38' not found")], linux);
    expect(load).toThrow(KernelsLoadError);
    expect(load).toThrow(/on linux-x64\.\n/);
    expect(load).toThrow(/- local: Cannot find module x\n.*- package: GLIBC_2\.38' not found\n/);
    expect(load).toThrow(/pnpm build:native/);
    expect(load).toThrow(/npm install @hearth\/kernels-linux-x64/);
    expect(load).toThrow(new RegExp(`this is ${process.version}`));
    expect(load).not.toThrow(/Require stack/);
    try {
      load();
    } catch (error) {
      expect(error).toMatchObject({
        code: 'kernels_load_failed',
        cause: { message: expect.stringContaining('Cannot find module x') },
        details: { platform: linux, failures: [{ name: 'local' }, { name: 'package' }] },
      });
    }
  });

  it('says so when there is no package for the platform', () => {
    const load = () => loadFirst([failing('local', 'no')], { platform: 'sunos', arch: 'x64', isMusl: false });
    expect(load).toThrow(/no prebuilt package for sunos-x64/);
    expect(load).not.toThrow(/npm install @hearth/);
  });
});
