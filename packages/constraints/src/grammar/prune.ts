import { choice, type Expression, empty, nothing, type Rules, repeat, sequence } from './expression.ts';

/**
 * Takes out of a grammar every branch that no finite text can leave again, such as an object that requires another one of
 * its kind, so that a text never begins what it cannot end.
 *
 * @returns the rules that are left and can be reached from `root`; without `root` itself when no text obeys it
 */
export function prune(rules: Rules, root: string): Rules {
  const finite = finiteRules(rules);
  const pruned: Rules = new Map();
  const open = finite.has(root) ? [root] : [];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (pruned.has(name)) continue;
    const expression = withoutEndless(rules.get(name)!, finite);
    pruned.set(name, expression);
    for (const used of rulesIn(expression)) open.push(used);
  }
  return pruned;
}

/** Names of the rules that some finite text obeys. Each rule is looked at again only when one that it uses was found. */
function finiteRules(rules: Rules): Set<string> {
  const finite = new Set<string>();
  const users = new Map<string, string[]>();
  for (const [name, expression] of rules) {
    for (const used of new Set(rulesIn(expression))) {
      const list = users.get(used);
      if (list === undefined) users.set(used, [name]);
      else list.push(name);
    }
  }
  const open = [...rules.keys()];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (finite.has(name) || !hasFiniteText(rules.get(name)!, finite)) continue;
    finite.add(name);
    for (const user of users.get(name) ?? []) open.push(user);
  }
  return finite;
}

function hasFiniteText(expression: Expression, finite: ReadonlySet<string>): boolean {
  switch (expression.kind) {
    case 'text':
      return true;
    case 'characters':
      return expression.ranges.length > 0 || expression.andOthers;
    case 'rule':
      return finite.has(expression.name);
    case 'sequence':
      return expression.parts.every((part) => hasFiniteText(part, finite));
    case 'choice':
      return expression.options.some((option) => hasFiniteText(option, finite));
    case 'repeat':
      return expression.least === 0 || hasFiniteText(expression.part, finite);
  }
}

function withoutEndless(expression: Expression, finite: ReadonlySet<string>): Expression {
  if (!hasFiniteText(expression, finite)) return nothing;
  switch (expression.kind) {
    case 'text':
    case 'characters':
    case 'rule':
      return expression;
    case 'sequence':
      return sequence(...expression.parts.map((part) => withoutEndless(part, finite)));
    case 'choice':
      return choice(
        ...expression.options
          .filter((option) => hasFiniteText(option, finite))
          .map((option) => withoutEndless(option, finite)),
      );
    case 'repeat':
      if (!hasFiniteText(expression.part, finite)) return empty;
      return repeat(withoutEndless(expression.part, finite), expression.least, expression.most);
  }
}

function* rulesIn(expression: Expression): Generator<string> {
  switch (expression.kind) {
    case 'rule':
      yield expression.name;
      return;
    case 'sequence':
      for (const part of expression.parts) yield* rulesIn(part);
      return;
    case 'choice':
      for (const option of expression.options) yield* rulesIn(option);
      return;
    case 'repeat':
      yield* rulesIn(expression.part);
  }
}
