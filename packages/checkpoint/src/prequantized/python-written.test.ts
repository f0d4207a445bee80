import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { CheckpointTensor } from '../checkpoint.ts';
import { plainFileMapper } from '../io/plain-file-mapper.ts';
import { readSafetensors } from '../safetensors/read-safetensors.ts';
import { readTensor } from '../tensor/read-tensor.ts';
import { quantizedTensors } from './quantized-tensors.ts';
import { readQuantization } from './read-quantization.ts';

// Matrices packed by tools/formats/make-quantized.py, which has numpy and PyTorch, with the values they stand for.
describe('matrices that Python packed', () => {
  it.each(['awq', 'gptq', 'gptq-act-order', 'fp8'])('of %s have the same values, to the bit', async (name) => {
    const path = fileURLToPath(new URL(`./__fixtures__/python-${name}.safetensors`, import.meta.url));
    const file = await plainFileMapper.open(path);
    const { metadata, tensors } = await readSafetensors(file);
    const quantization_config = JSON.parse(metadata.get('quantization_config')!);
    const members = tensors.map((tensor): [string, CheckpointTensor] => {
      return [tensor.name, { ...tensor, storedName: tensor.name, file }];
    });
    const result = await quantizedTensors(new Map(members), readQuantization({ quantization_config }, path)!);
    const [read, expected] = [await readTensor(result.get('m.weight')!), await readTensor(result.get('expected')!)];
    expect(result.get('m.weight')!.shape).toEqual(result.get('expected')!.shape);
    // −0 and +0 are one value: a negative scale times code 0 is +0 in Hearth.
    expect(read.findIndex((value, i) => value !== expected[i])).toBe(-1);
    expect(new Set(read).size).toBeGreaterThan(100);
    await file.close();
  });
});
