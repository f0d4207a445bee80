import { hearthPackage } from '../../tsup.base.ts';

export default hearthPackage(['src/main.ts'], []);
