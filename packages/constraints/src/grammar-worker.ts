import { serve, withTransfer } from '@hearth/bounded-worker';
import { GrammarEngine, type GrammarEngineInit, type MasksInput } from './worker/grammar-engine.ts';

/** Methods of the thread that compiles constraints and makes masks. */
async function createMethods(init: GrammarEngineInit) {
  const engine = new GrammarEngine(init);
  await engine.start();
  return {
    compile: async (source: string) => {
      await engine.compile(source);
      return true;
    },
    masks: async (input: MasksInput) => {
      const output = await engine.masks(input);
      return withTransfer(
        output,
        (output?.masks ?? []).map((mask) => mask.buffer),
      );
    },
    close: (matcher: number) => {
      engine.close(matcher);
      return true;
    },
    ready: () => true,
  };
}

export type GrammarMethods = Awaited<ReturnType<typeof createMethods>>;

serve<GrammarEngineInit, GrammarMethods>(createMethods);
