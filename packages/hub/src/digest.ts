import { createHash, type Hash } from 'node:crypto';

/** A checksum that the bytes of a file must have. */
export interface Digest {
  /** `git-sha1` is the id that git gives to a file: SHA-1 over `blob SIZE`, a zero byte, and the bytes. */
  algorithm: 'sha256' | 'sha384' | 'sha512' | 'git-sha1';
  /** Lower-case hex. */
  hex: string;
}

/** A digest that the bytes do not have. */
export interface DigestMismatch {
  algorithm: Digest['algorithm'];
  expected: string;
  actual: string;
}

/** Hashes bytes as they stream by: always SHA-256, and whatever else is expected of them. */
export class ContentHasher {
  readonly #sha256 = createHash('sha256');
  readonly #others: { digest: Digest; hash: Hash }[];
  readonly #expectedSha256: Digest[];

  /** `sizeBytes` is needed for `git-sha1` alone, which begins with it; such digests are left out without it. */
  constructor(digests: readonly Digest[], sizeBytes?: number) {
    this.#expectedSha256 = digests.filter((digest) => digest.algorithm === 'sha256');
    this.#others = digests.flatMap((digest) => {
      if (digest.algorithm === 'sha256') return [];
      if (digest.algorithm !== 'git-sha1') return [{ digest, hash: createHash(digest.algorithm) }];
      return sizeBytes === undefined ? [] : [{ digest, hash: createHash('sha1').update(`blob ${sizeBytes}\0`) }];
    });
  }

  update(bytes: Uint8Array): void {
    this.#sha256.update(bytes);
    for (const { hash } of this.#others) hash.update(bytes);
  }

  /** Ends the hashing; can be called once. */
  finish(): { sha256: string; mismatch: DigestMismatch | undefined } {
    const sha256 = this.#sha256.digest('hex');
    const results = [
      ...this.#expectedSha256.map((digest) => ({ digest, actual: sha256 })),
      ...this.#others.map(({ digest, hash }) => ({ digest, actual: hash.digest('hex') })),
    ];
    const wrong = results.find(({ digest, actual }) => digest.hex.toLowerCase() !== actual);
    return {
      sha256,
      mismatch: wrong && { algorithm: wrong.digest.algorithm, expected: wrong.digest.hex, actual: wrong.actual },
    };
  }
}
