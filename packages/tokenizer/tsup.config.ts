import { hearthPackage } from '../../tsup.base.ts';

export default hearthPackage(['src/index.ts', 'src/load-worker.ts', 'src/encode-worker.ts']);
