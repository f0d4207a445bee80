import type { BlockPool } from './block-pool.ts';

/**
 * A published block, found under those of all tokens before it. Its place in the tree says every token up to its end, so
 * nodes of equal tokens are one node.
 */
export interface PrefixNode {
  /** −1 in the root of a salt. */
  readonly block: number;
  /** Undefined in a root. */
  readonly parent: PrefixNode | undefined;
  /** The token ids of the block, or the salt of a root. */
  readonly key: string;
  readonly children: Map<string, PrefixNode>;
  /** False once the block was evicted; then it is so in all nodes below as well. */
  isPublished: boolean;
}

/** Since the model was loaded. */
export interface PrefixCacheStats {
  /** Tokens that were looked for. */
  lookupTokens: number;
  /** Tokens that were found. */
  hitTokens: number;
  /** Blocks that cannot be found any more. */
  numEvicted: number;
}

/**
 * Finds the blocks of a prefix that was computed before: a tree for each salt, one level a block, whose branches are the
 * token ids of whole blocks.
 *
 *     salt ─┬─ "5,8,9,2" block 7 ─┬─ "1,1,4,0" block 3
 *           │                     └─ "1,1,4,6" block 12
 *           └─ "5,8,9,3" block 4
 *
 * The ids themselves are the keys, not a hash of them: two texts are never taken for one.
 *
 * A block is reachable as long as all blocks before it are. So eviction takes a node with all that are below it, and owners
 * release the blocks of a table from the last to the first, which makes the ends of texts the first to go.
 */
export class PrefixCache {
  readonly blockSize: number;
  readonly stats: PrefixCacheStats = { lookupTokens: 0, hitTokens: 0, numEvicted: 0 };
  readonly #pool: BlockPool;
  /** By salt; only those that something is published under. */
  readonly #roots = new Map<string, PrefixNode>();
  readonly #nodeOfBlock = new Map<number, PrefixNode>();

  /** Takes over `pool.onEvict`. */
  constructor(pool: BlockPool, blockSize: number) {
    this.#pool = pool;
    this.blockSize = blockSize;
    pool.onEvict = (block) => this.#evict(this.#nodeOfBlock.get(block)!);
  }

  /**
   * The longest published prefix of the first `maxTokens` ids, whole blocks only, from the first block on. Empty when it is
   * not longer than `numCachedTokens`, which the caller has already; otherwise the caller gets a reference to each block.
   */
  match(tokenIds: readonly number[], salt: string, maxTokens: number, numCachedTokens = 0): PrefixNode[] {
    const numTokens = Math.min(maxTokens, tokenIds.length);
    this.stats.lookupTokens += Math.max(0, numTokens - numCachedTokens);
    const most = Math.floor(numTokens / this.blockSize);
    if (most * this.blockSize <= numCachedTokens) return [];
    const nodes: PrefixNode[] = [];
    let node = this.#roots.get(salt);
    while (node && nodes.length < most) {
      node = node.children.get(this.#key(tokenIds, nodes.length));
      if (node) nodes.push(node);
    }
    const numFound = nodes.length * this.blockSize - numCachedTokens;
    if (numFound <= 0) return [];
    this.stats.hitTokens += numFound;
    this.#pool.retain(nodes.map(({ block }) => block));
    return nodes;
  }

  /**
   * Publishes block `index` of a sequence, which holds the keys and values of its tokens, below the node of the block before
   * it (undefined for the first one). When the same tokens are published already, that node stays and `block` remains the
   * caller's alone. Returns the node of these tokens.
   */
  publish(
    tokenIds: readonly number[],
    salt: string,
    index: number,
    block: number,
    previous: PrefixNode | undefined,
  ): PrefixNode {
    const parent = previous ?? this.#root(salt);
    const key = this.#key(tokenIds, index);
    const existing = parent.children.get(key);
    if (existing) return existing;
    this.#pool.publish(block);
    const node: PrefixNode = { block, parent, key, children: new Map(), isPublished: true };
    parent.children.set(key, node);
    this.#nodeOfBlock.set(block, node);
    return node;
  }

  /**
   * Checks that exactly the published blocks of the pool can be found.
   * @throws Error naming the first block that is not as it should be
   */
  checkIntegrity(): void {
    const reachable = new Set<number>();
    for (const root of this.#roots.values()) {
      if (root.children.size === 0) throw new Error('Nothing is published under a salt that is kept.');
      for (const node of below(root)) {
        const { block, isPublished } = node;
        if (!isPublished || !this.#pool.isPublished(block))
          throw new Error(`Block ${block} is found, but not published.`);
        if (this.#nodeOfBlock.get(block) !== node) throw new Error(`Block ${block} is found under two prefixes.`);
        reachable.add(block);
      }
    }
    for (let block = 0; block < this.#pool.numBlocks; block++) {
      if (this.#pool.isPublished(block) !== reachable.has(block)) {
        throw new Error(`Block ${block} is published, but cannot be found.`);
      }
    }
    if (this.#nodeOfBlock.size !== reachable.size) throw new Error('The prefix cache remembers blocks that are gone.');
  }

  #root(salt: string): PrefixNode {
    let root = this.#roots.get(salt);
    if (!root) {
      root = { block: -1, parent: undefined, key: salt, children: new Map(), isPublished: true };
      this.#roots.set(salt, root);
    }
    return root;
  }

  /** The pool has taken the block of `node`. What is below cannot be found without it. */
  #evict(node: PrefixNode): void {
    const parent = node.parent!;
    parent.children.delete(node.key);
    if (parent.parent === undefined && parent.children.size === 0) this.#roots.delete(parent.key);
    this.#forget(node);
    for (const orphan of below(node)) {
      this.#pool.unpublish(orphan.block);
      this.#forget(orphan);
    }
  }

  #forget(node: PrefixNode): void {
    node.isPublished = false;
    this.#nodeOfBlock.delete(node.block);
    this.stats.numEvicted++;
  }

  #key(tokenIds: readonly number[], index: number): string {
    return tokenIds.slice(index * this.blockSize, (index + 1) * this.blockSize).join();
  }
}

/** All nodes below one, parents before children. Not recursive: a long text is a deep tree. */
function* below(node: PrefixNode): Iterable<PrefixNode> {
  const waiting = [...node.children.values()];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    yield next;
    for (const child of next.children.values()) waiting.push(child);
  }
}
