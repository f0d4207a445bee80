// Sets the workspace up and does nothing else: for CI and for the first minute of a new contributor.
import { runMain, setUp } from './setup.mjs';

runMain(setUp);
