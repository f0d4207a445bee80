import { testFamily } from './prove-family.ts';

testFamily('gemma3');
