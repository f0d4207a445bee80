import { monitorEventLoopDelay } from 'node:perf_hooks';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';

/** Ten wake-ups a second: an idle server stays idle, and a loop that stands still for longer than this is still seen. */
const eventLoopResolutionMs = 100;

const quantiles = [0.5, 0.9, 0.99, 1];

let shared: Registry | undefined;

/** CPU, memory, garbage collection and event loop delay of this process: one registry, however many servers are in it. */
export function processMetrics(): Registry {
  shared ??= createProcessMetrics();
  return shared;
}

function createProcessMetrics(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: eventLoopResolutionMs });
  // The library's own are not a number when they are read twice between two wake-ups.
  for (const { name } of registry.getMetricsAsArray()) {
    if (name.startsWith('nodejs_eventloop_lag')) registry.removeSingleMetric(name);
  }
  const delays = monitorEventLoopDelay({ resolution: eventLoopResolutionMs });
  delays.enable();
  const gauge: Gauge = new Gauge({
    name: 'hearth_event_loop_delay_seconds',
    help: 'How late the event loop was since the metrics were last read, by quantile. 0 before the first sample.',
    labelNames: ['quantile'],
    registers: [registry],
    collect() {
      for (const quantile of quantiles) {
        // Samples are whole intervals: what is above the resolution is the delay.
        const nanoseconds = delays.count > 0 ? delays.percentile(100 * quantile) : 0;
        gauge.set({ quantile }, Math.max(0, nanoseconds / 1e9 - eventLoopResolutionMs / 1000));
      }
      delays.reset();
    },
  });
  return registry;
}
