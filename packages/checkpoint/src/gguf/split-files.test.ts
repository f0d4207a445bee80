import { copyFile, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { InvalidArgumentError, InvalidModelError } from '@hearth/core';
import { beforeEach, describe, expect, it } from 'vitest';
import { familyFixture } from '../__fixtures__/families.ts';
import { entry, ggufBytes, llamaEntries, u16, u32 } from '../__fixtures__/gguf-bytes.ts';
import { putFile, temporaryDirectory } from '../__fixtures__/temporary-directory.ts';
import { plainFileMapper } from '../io/plain-file-mapper.ts';
import { openCheckpoint } from '../open-checkpoint.ts';
import { syntheticModel } from '../synthetic/synthetic-model.ts';
import { readTensor } from '../tensor/read-tensor.ts';
import { writeGguf } from './write-gguf.ts';

const directory = await temporaryDirectory();
const { config, tensors } = syntheticModel({ ...familyFixture('llama'), dtype: 'f16' });
let count = 0;
let folder: string;
let paths: string[];

beforeEach(async () => {
  folder = join(directory, `${count++}`);
  await mkdir(folder);
  paths = await writeGguf(join(folder, 'model.v1.gguf'), { config, tensors }, { maxShardBytes: 150_000 });
});

describe('a split model', () => {
  it('is written in parts that are called like their places', async () => {
    expect(paths).toEqual([1, 2, 3].map((part) => join(folder, `model.v1-0000${part}-of-00003.gguf`)));
    expect((await readdir(folder)).sort()).toEqual(paths.map((path) => path.slice(folder.length + 1)));
  });

  it('opens by any of its parts, as one', async () => {
    const [first, ...others] = await Promise.all(paths.map((path) => openCheckpoint(path)));
    expect(first!.tensors.size).toBe(tensors.length);
    expect(first!.name).toBe('model.v1');
    expect(new Set([...first!.tensors.values()].map(({ file }) => file.path)).size).toBe(3);
    expect(first!.sizeBytes).toBe(
      [...new Set([...first!.tensors.values()].map(({ file }) => file))].reduce((sum, { size }) => sum + size, 0),
    );
    for (const other of others) {
      expect(other.config).toEqual(first!.config);
      expect(other.headerHash).toBe(first!.headerHash);
      expect([...other.tensors.keys()]).toEqual([...first!.tensors.keys()]);
    }
    const last = first!.tensors.get('lm_head.weight')!;
    expect((await readTensor(last)).length).toBe(288 * 96);
    await Promise.all([first, ...others].map((checkpoint) => checkpoint!.close()));
    await expect(readTensor(last)).rejects.toThrow(/closed|disposed/i);
  });

  it('tells parts of other contents apart by its hash', async () => {
    const other = await openCheckpoint((await writeGguf(join(folder, 'whole.gguf'), { config, tensors }))[0]!);
    const split = await openCheckpoint(paths[0]!);
    expect(other.headerHash).not.toBe(split.headerHash);
    await Promise.all([other.close(), split.close()]);
  });

  it('is one file under the name that was asked for when it fits', async () => {
    const path = join(folder, 'small.gguf');
    expect(await writeGguf(path, { config, tensors }, { maxShardBytes: 2 ** 40 })).toEqual([path]);
    for (const maxShardBytes of [0, -1, Number.NaN]) {
      await expect(writeGguf(path, { config, tensors }, { maxShardBytes })).rejects.toThrow(InvalidArgumentError);
    }
  });
});

describe('a split model whose writing fails', () => {
  it('leaves nothing behind', async () => {
    const lost = { ...tensors.at(-1)!, data: () => Promise.reject(new Error('no disk')) };
    const model = { config, tensors: [...tensors.slice(0, -1), lost] };
    const before = await readdir(folder);
    await expect(writeGguf(join(folder, 'lost.gguf'), model, { maxShardBytes: 150_000 })).rejects.toThrow('no disk');
    expect(await readdir(folder)).toEqual(before);
  });
});

describe('a split model that is not whole', () => {
  /** Opening fails, names the part, and leaves no file open. */
  async function expectRefusal(path: string, message: RegExp): Promise<void> {
    let open = 0;
    const fileMapper = {
      open: async (each: string) => {
        const file = await plainFileMapper.open(each);
        const close = file.close.bind(file);
        open++;
        file.close = () => {
          open--;
          return close();
        };
        return file;
      },
    };
    await expect(openCheckpoint(path, { fileMapper })).rejects.toThrow(message);
    await expect(openCheckpoint(path, { fileMapper })).rejects.toThrow(InvalidModelError);
    expect(open).toBe(0);
  }

  it('is refused for a missing part, whichever was opened', async () => {
    await rm(paths[1]!);
    await expectRefusal(
      paths[0]!,
      /model\.v1-00002-of-00003\.gguf is missing, but model\.v1-00001-of-00003\.gguf is one of 3/,
    );
    await expectRefusal(paths[2]!, /model\.v1-00002-of-00003\.gguf is missing/);
  });

  it('is refused for a part that is there twice, under the name of another', async () => {
    await copyFile(paths[0]!, paths[1]!);
    await expectRefusal(paths[2]!, /00002-of-00003\.gguf is called part 2, but says that it is part 1/);
  });

  it('is refused for a renamed part', async () => {
    const renamed = join(folder, 'renamed.gguf');
    await rename(paths[0]!, renamed);
    await expectRefusal(
      renamed,
      /renamed\.gguf is one of 3 parts of a model, so its name must end in -00001-of-00003\.gguf/,
    );
    const miscounted = join(folder, 'model.v1-00001-of-00002.gguf');
    await rename(renamed, miscounted);
    await expectRefusal(miscounted, /is one of 3 parts/);
  });

  it('is refused for a part of another model', async () => {
    const other = syntheticModel({ ...familyFixture('qwen3'), dtype: 'f16' });
    const write = (name: string, maxShardBytes: number) =>
      writeGguf(join(folder, name), { config: other.config, tensors: other.tensors }, { maxShardBytes });
    const foreign = await write('other.gguf', 120_000);
    expect(foreign).toHaveLength(3);
    await copyFile(foreign[1]!, paths[1]!);
    await expectRefusal(
      paths[0]!,
      /00002-of-00003\.gguf says 24 for "split\.tensors\.count", but model\.v1-00001-of-00003\.gguf says 21/,
    );
  });

  it('is refused for a part without tensors of its own, or with those of another part', async () => {
    const part = (tensorNames: string[]) =>
      ggufBytes({
        entries: [
          entry('split.no', 'u16', u16(1)),
          entry('split.count', 'u16', u16(3)),
          entry('split.tensors.count', 'i32', u32(21)),
        ],
        tensors: tensorNames.map((name) => ({ name, dims: [8] })),
      });
    await putFile(folder, 'model.v1-00002-of-00003.gguf', part(['token_embd.weight']));
    await expectRefusal(
      paths[0]!,
      /00002-of-00003\.gguf has the tensor "token_embd\.weight", which model\.v1-00001-of-00003\.gguf has too/,
    );
    await putFile(folder, 'model.v1-00002-of-00003.gguf', part([]));
    await expectRefusal(
      paths[0]!,
      /00001-of-00003\.gguf says that all parts together have 21 tensors, but they have \d+/,
    );
    await putFile(folder, 'model.v1-00002-of-00003.gguf', ggufBytes());
    await expectRefusal(paths[0]!, /is called part 2, but says that it is no part of a split model/);
    await putFile(folder, 'model.v1-00002-of-00003.gguf', 'nonsense');
    await expectRefusal(paths[0]!, /00002-of-00003\.gguf: this is not a GGUF file/);
  });

  it('is refused for more parts than any model has, before they are looked for', async () => {
    const entries = llamaEntries({ 'split.count': ['u16', u16(65_535)], 'split.no': ['u16', u16(0)] });
    const path = await putFile(folder, 'x-00001-of-65535.gguf', ggufBytes({ entries }));
    await expectRefusal(path, /is one of 65535 parts; at most 1024/);
  });
});
