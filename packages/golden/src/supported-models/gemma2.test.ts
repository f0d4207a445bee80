import { testFamily } from './prove-family.ts';

testFamily('gemma2');
