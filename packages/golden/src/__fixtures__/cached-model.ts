import { HearthError } from '@hearth/core';
import { resolveModel } from '@hearth/hub';

/** Where a catalogue model lies, if it was pulled; null otherwise. For runs that do not download. */
export async function cachedModelPath(name: string): Promise<string | null> {
  try {
    return (await resolveModel(name, { offline: true })).path;
  } catch (error) {
    if (HearthError.isInstance(error) && error.code === 'offline') return null;
    throw error;
  }
}
