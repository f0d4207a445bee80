import {
  type Ceiling,
  type MachineProbe,
  type MachineProbeOptions,
  type MeasuredRate,
  openMachineProbe,
} from './machine-probe.ts';

/** A ceiling of one thread alone, and of all threads together. */
export interface ThreadRates {
  readonly oneThread: MeasuredRate;
  readonly allThreads: MeasuredRate;
}

/** What a machine can do at most, per second: bytes that are read, operations (a multiply-add is two). */
export interface MachineCeilings {
  readonly variant: string;
  readonly numThreads: number;
  readonly memoryRead: ThreadRates;
  /** Null where no third level of cache is known. */
  readonly l3Read: ThreadRates | null;
  readonly l2Read: ThreadRates;
  /** f32 multiply-adds. */
  readonly fma: ThreadRates;
  /** The integer dot products of the variant. */
  readonly integer: ThreadRates;
}

export interface MeasureMachineOptions extends MachineProbeOptions {
  readonly signal?: AbortSignal | undefined;
}

/**
 * Measures the ceilings of this machine with the instructions of a kernel variant: about a second on all its threads, off the
 * JavaScript thread.
 *
 * @throws as `openMachineProbe` and `MachineProbe.measure`
 */
export async function measureMachine(options: MeasureMachineOptions = {}): Promise<MachineCeilings> {
  const { signal, ...probeOptions } = options;
  const probe = await openMachineProbe(probeOptions);
  try {
    const rates = (ceiling: Ceiling) => threadRates(probe, ceiling, signal);
    return {
      variant: probe.variant,
      numThreads: probe.numThreads,
      memoryRead: (await rates('memory-read'))!,
      l3Read: await rates('l3-read'),
      l2Read: (await rates('l2-read'))!,
      fma: (await rates('fma'))!,
      integer: (await rates('integer'))!,
    };
  } finally {
    await probe.dispose();
  }
}

async function threadRates(
  probe: MachineProbe,
  ceiling: Ceiling,
  signal: AbortSignal | undefined,
): Promise<ThreadRates | null> {
  const allThreads = await probe.measure(ceiling, { signal });
  const oneThread = await probe.measure(ceiling, { threads: 'one', signal });
  return allThreads && oneThread && { allThreads, oneThread };
}
