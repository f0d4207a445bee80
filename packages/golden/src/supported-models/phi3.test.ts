import { testFamily } from './prove-family.ts';

testFamily('phi3');
