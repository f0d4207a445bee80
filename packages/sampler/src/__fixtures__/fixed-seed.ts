import fc from 'fast-check';

/**
 * Property tests draw the same cases in every run, so that a red build is a change of code and not of luck. To look
 * further: HEARTH_PROPERTY_SEED=$RANDOM npx vitest run packages/sampler
 */
fc.configureGlobal({ seed: Number(process.env.HEARTH_PROPERTY_SEED ?? 1) });
