import { testFamily } from './prove-family.ts';

testFamily('mistral');
