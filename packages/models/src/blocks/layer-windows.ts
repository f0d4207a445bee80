import { InvalidModelError, UnsupportedError } from '@hearth/core';
import type { ConfigReader } from './config-reader.ts';

export type LayerType = 'full_attention' | 'sliding_attention';

/** How many of the last positions each layer sees; null when all. */
export type LayerWindows = readonly (number | null)[];

export const windowRange = { min: 1, max: 2 ** 24 };

/**
 * Reads `layer_types`.
 *
 * @param window of the sliding layers; null when the config has none
 * @param defaultType of a layer when `layer_types` is absent
 * @throws InvalidModelError when sliding layers have no window, or there is another number of types than of layers
 * @throws UnsupportedError for other kinds of layers
 */
export function readLayerWindows(
  config: ConfigReader,
  numLayers: number,
  window: number | null,
  defaultType: (layer: number) => LayerType,
): LayerWindows {
  const types = config.strings('layer_types') ?? Array.from({ length: numLayers }, (_, layer) => defaultType(layer));
  if (types.length !== numLayers) config.fail('layer_types', `a list of num_hidden_layers (${numLayers}) types`);
  return types.map((type, layer) => {
    if (type === 'full_attention') return null;
    if (type !== 'sliding_attention') {
      throw new UnsupportedError(
        `layer_types in ${config.where} says "${type.slice(0, 80)}" for layer ${layer}. Supported are full_attention and sliding_attention.`,
        { details: { layer, type } },
      );
    }
    if (window === null) {
      throw new InvalidModelError(
        `layer_types in ${config.where} says sliding_attention for layer ${layer}, but there is no sliding_window in use.`,
        { details: { layer } },
      );
    }
    return window;
  });
}

/** The windows of Qwen 2 and 3: with `use_sliding_window`, the layers from `max_window_layers` on. */
export function readQwenWindows(config: ConfigReader, numLayers: number): LayerWindows {
  const window = config.boolean('use_sliding_window', false)
    ? config.orNull('sliding_window', (key) => config.integer(key, { ...windowRange, default: 4096 }))
    : null;
  const firstWindowed = config.integer('max_window_layers', { min: 0, max: 2 ** 24, default: 28 });
  return readLayerWindows(config, numLayers, window, (layer) =>
    window !== null && layer >= firstWindowed ? 'sliding_attention' : 'full_attention',
  );
}
