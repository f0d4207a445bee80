import { hearthPackage } from '../../tsup.base.ts';

const entry = ['src/index.ts', 'src/test/index.ts'];

export default hearthPackage(entry, entry);
