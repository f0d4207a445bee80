import { crc32, deflateRawSync } from 'node:zlib';

export interface ZipMember {
  name: string;
  data: Buffer;
  method?: 'stored' | 'deflated';
  /** Written instead of the true size. */
  declaredSize?: number;
  /** Written instead of the packed bytes. */
  packed?: Buffer;
  encrypted?: boolean;
}

/** A zip archive as the specification (PKWARE APPNOTE 4.3) lays it out: local headers with data, directory, end record. */
export function zipOf(members: readonly ZipMember[]): Buffer {
  const locals: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, data, method = 'deflated', declaredSize = data.length, encrypted = false, ...rest } of members) {
    const packed = rest.packed ?? (method === 'stored' ? data : deflateRawSync(data));
    const nameBytes = Buffer.from(name);
    const fields = Buffer.alloc(26);
    fields.writeUInt16LE(20, 0); // version needed
    fields.writeUInt16LE(0x800 | (encrypted ? 1 : 0), 2); // flags: UTF-8 names
    fields.writeUInt16LE(method === 'stored' ? 0 : 8, 4);
    fields.writeUInt32LE(0x21_0000, 6); // 1980-01-01
    fields.writeUInt32LE(checksum(data), 10);
    fields.writeUInt32LE(packed.length, 14);
    fields.writeUInt32LE(declaredSize, 18);
    fields.writeUInt16LE(nameBytes.length, 22);
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), fields, nameBytes, packed]);
    const entry = Buffer.alloc(14);
    entry.writeUInt32LE(offset, 10);
    directory.push(Buffer.from('PK\x01\x02', 'latin1'), Buffer.from([20, 3]), fields, entry, nameBytes);
    locals.push(local);
    offset += local.length;
  }
  const entries = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 0, 'latin1');
  end.writeUInt16LE(members.length, 8);
  end.writeUInt16LE(members.length, 10);
  end.writeUInt32LE(entries.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, entries, end]);
}

/** `zlib.crc32` came with Node 20.15; the readers under test do not look at it. */
function checksum(data: Buffer): number {
  return typeof crc32 === 'function' ? crc32(data) : 0;
}
