import { parseSize, parseStorageDtype } from '@hearth/command-line';
import { z } from 'zod';

/** What a timer can wait for, in seconds. */
const mostSeconds = Math.floor((2 ** 31 - 1) / 1000);

/** Bytes, as a number or a text such as `512MB`. */
export const size = z
  .union([z.number(), z.string()], 'must be a size such as 512MB')
  .transform(parsedBy((value) => parseSize(typeof value === 'number' ? `${value}B` : value, 'It')));

/** A type that weights can be put into. */
export const storageDtype = z.string().transform(parsedBy((text) => parseStorageDtype(text, 'It')));

export const count = z.int().min(1);
export const seconds = z.number().positive().max(mostSeconds);
/** Zero for no limit. */
export const secondsOrNever = z.number().min(0).max(mostSeconds);

/** What a parser of command lines makes of the value; what it throws becomes the issue. */
function parsedBy<In, Out>(parse: (value: In) => Out) {
  return (value: In, context: z.RefinementCtx<In>): Out => {
    try {
      return parse(value);
    } catch (error) {
      context.addIssue({ code: 'custom', message: (error as Error).message });
      return z.NEVER;
    }
  };
}
