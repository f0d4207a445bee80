import { hearthPackage } from '../../tsup.base.ts';

export default hearthPackage(['src/index.ts', 'src/main.ts']);
