import { plainFileMapper } from '@hearth/checkpoint';
import type { FileMapper } from '@hearth/core';

/** Opens files and knows how many of them were not closed yet. */
export class CountingFileMapper implements FileMapper {
  numOpen = 0;

  async open(path: string) {
    const file = await plainFileMapper.open(path);
    this.numOpen++;
    let isOpen = true;
    return {
      path: file.path,
      size: file.size,
      read: (offset: number, length: number) => file.read(offset, length),
      close: async () => {
        if (isOpen) this.numOpen--;
        isOpen = false;
        await file.close();
      },
    };
  }
}
