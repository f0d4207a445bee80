import { testFamily } from './prove-family.ts';

testFamily('qwen3');
