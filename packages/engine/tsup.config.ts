import { hearthPackage } from '../../tsup.base.ts';

export default hearthPackage(['src/index.ts', 'src/test/index.ts'], {
  dts: { entry: ['src/index.ts', 'src/test/index.ts'] },
});
