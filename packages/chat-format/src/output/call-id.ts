import { randomInt } from 'node:crypto';

const characters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/**
 * A new id of a tool call: `call_` and 24 letters and digits.
 *
 * @param random a whole number from 0 to below its argument; by default from the system's secure source
 */
export function createCallId(random: (bound: number) => number = (bound) => randomInt(bound)): string {
  let id = 'call_';
  for (let count = 0; count < 24; count++) id += characters[random(characters.length)];
  return id;
}
