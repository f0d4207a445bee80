import { hearthPackage } from '../../tsup.base.ts';

export default hearthPackage();
