import { type SpeculationStats, sumSpeculationStats } from '@hearth/speculative';
import type { GenerationTask } from './generation-task.ts';

/** What all generations of a model that have ended have come to. */
export class GenerationStatistics {
  speculation: SpeculationStats = sumSpeculationStats([]);

  addGeneration({ speculationStats }: GenerationTask): void {
    if (speculationStats) this.speculation = sumSpeculationStats([this.speculation, speculationStats]);
  }
}
