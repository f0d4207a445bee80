import { type MachineCeilings, type MachineProbeOptions, openMachineProbe } from './machine-probe.ts';

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
    return await probe.measureAll(signal);
  } finally {
    await probe.dispose();
  }
}
