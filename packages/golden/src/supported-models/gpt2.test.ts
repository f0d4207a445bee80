import { testFamily } from './prove-family.ts';

testFamily('gpt2');
