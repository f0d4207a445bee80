interface Node {
  readonly children?: readonly Node[];
}

/** More than anybody reads, and far less than what overflows the stack of a browser. */
const mostLevels = 100;

/**
 * A rehype plugin for texts that nobody has checked. A model that goes in circles writes `> > > >` without end, and what
 * draws elements goes down into them one call a level.
 * @throws RangeError for a tree of more than 100 levels
 */
export function refuseDeepTrees() {
  return (tree: Node): void => {
    let level: readonly Node[] = [tree];
    for (let depth = 0; level.length > 0; depth++) {
      if (depth > mostLevels) throw new RangeError(`The text is nested more than ${mostLevels} levels deep.`);
      level = level.flatMap(({ children = [] }) => children);
    }
  };
}
