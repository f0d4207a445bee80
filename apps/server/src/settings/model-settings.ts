import { parseWhole } from '@hearth/command-line';
import { z } from 'zod';
import { readNumber, readSwitch, setting } from './setting.ts';
import { count, size, storageDtype } from './values.ts';

const group = 'Models:';

/** How a model is loaded. On their own they hold for all models; in the entry of a model for that one, whatever else is said. */
export const loadSettings = {
  context: setting(count.optional(), {
    group,
    argument: '<n>',
    description: 'positions of the context of a request',
    defaultText: '4096, or what the model was made for if that is less',
    read: readNumber,
  }),
  cacheType: setting(z.enum(['f16', 'f32', 'q8']).optional(), {
    group,
    argument: '<type>',
    description: 'type of the KV cache: f16, f32, or q8, which takes about half the memory of f16',
    defaultText: 'f16',
  }),
  cacheMemory: setting(size.optional(), {
    group,
    argument: '<size>',
    description: 'memory for the KV cache of a model, such as 2GiB',
    defaultText: 'room for four contexts or 16384 positions, whichever is less, and for one context at least',
  }),
  cacheTokens: setting(count.optional(), {
    group,
    argument: '<n>',
    description: 'positions that the KV cache of a model holds, instead of its memory',
    read: readNumber,
  }),
  prefixCache: setting(z.boolean().optional(), {
    group,
    argument: '<on|off>',
    description: 'whether prompts may begin with what earlier ones have computed',
    defaultText: 'on',
    read: readSwitch,
  }),
  quantize: setting(storageDtype.optional(), {
    group,
    argument: '<type>',
    description: 'put the weights into this type while they are loaded: q8_0, q4_k ...',
  }),
  speculate: setting(z.boolean().optional(), {
    group,
    argument: '[on|off]',
    description: 'guess tokens ahead from the text itself: the same answers, sooner where text repeats',
    defaultText: 'off',
    read: readSwitch,
  }),
  speculateTokens: setting(count.optional(), {
    group,
    argument: '<n>',
    description: 'most guesses in a step',
    read: (text, name) => parseWhole(text, name, 1),
  }),
  draftModel: setting(z.string().min(1).optional(), {
    group,
    argument: '<model>',
    description: 'guess tokens ahead with a smaller model of the same vocabulary',
  }),
  maxSequences: setting(z.int().min(1).max(4096).optional(), {
    group: 'Limits:',
    argument: '<n>',
    description: 'most requests that run at a time in one batch, for each model',
    defaultText: '32',
    read: readNumber,
  }),
  maxQueued: setting(z.int().min(0).optional(), {
    group: 'Limits:',
    argument: '<n>',
    description: 'most requests that wait beside them, for each model; more are refused with status 429',
    defaultText: '64',
    read: readNumber,
  }),
};

const modelName = z
  .string()
  .min(1)
  .max(200)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: names are printed and logged, so they hold none
  .regex(/^[^\u0000-\u001f\u007f-\u009f]+$/, 'must be a name without control characters');

/** One model that is served. */
export const modelSettings = z.strictObject({
  name: modelName.optional(),
  source: z.string().min(1),
  aliases: z.array(modelName).optional(),
  ...loadSettings,
});

/** `name=source`, or a source alone. A path that holds `=` keeps it, since names of models hold no slash before one. */
export function readModel(text: string): { name?: string; source: string } {
  const [, name, source] = /^([^=/\\]+)=(.+)$/.exec(text) ?? [];
  return name !== undefined && source !== undefined ? { name, source } : { source: text };
}

export type ModelSettings = z.output<typeof modelSettings>;
