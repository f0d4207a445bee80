import { pullModel } from '../models.ts';
import { isolatedOptions } from './test-settings.ts';

/** One of two processes that pull the same model at once; prints where it lies. */
const { HUB_TEST_DIRECTORY: directory = '', HUB_TEST_ENDPOINT: endpoint = '' } = process.env;
const resolved = await pullModel('org/name:Q8_0', isolatedOptions(directory, { endpoint }));
console.log(resolved.path);
