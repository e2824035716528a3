/**
 * The JSON form of a schema's values, in both directions (DCL-2, DCL-8).
 *
 * Rule: a JSON number is finite. Effect writes NaN and the infinities as strings and reads them from such; a schema that
 * says number means a number, so they are refused wherever the JSON form is one.
 */
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"

type Node = SchemaAST.AST

/** The nodes of Effect know how to visit their children; its types keep that to themselves. */
interface Parent {
  readonly recur?: (visit: (child: Node) => Node, visitKey: (key: Node) => Node) => Node
}

const isFinite = Schema.Finite.ast.checks![0]

/** Each node is visited once, so that a schema which refers to itself stays one that does. */
const visited = new WeakMap<Node, Node>()

const visit = (node: Node): Node => {
  let finite = visited.get(node)
  if (finite === undefined) visited.set(node, finite = visitNew(node))
  return finite
}

const visitNew = (node: Node): Node => {
  const { annotations, checks, context, encoding } = node
  if (encoding !== undefined) {
    const { to, transformation } = encoding.at(-1)!
    const seen = visit(to)
    return seen === to
      ? node
      : encodedTo(node, encoding.with(encoding.length - 1, new SchemaAST.Link(seen, transformation)))
  }
  return SchemaAST.isNumber(node)
    ? new SchemaAST.Number(annotations, [isFinite, ...checks ?? []], encoding, context)
    : (node as Parent).recur?.(visit, (key) => key) ?? node
}

const encodedTo = (node: Node, encoding: ReadonlyArray<SchemaAST.Link>): Node =>
  Object.assign(Object.create(Object.getPrototypeOf(node) as object) as Node, node, { encoding })

/** The same schema, with finite numbers wherever its JSON form has numbers. */
export const finite = <S extends Schema.Constraint>(schema: S): S => Schema.make<S>(visit(schema.ast) as S["ast"])

/** The codec between a schema's values and their JSON form. */
export const of = <S extends Schema.Constraint>(schema: S): Schema.toCodecJson<S> => Schema.toCodecJson(finite(schema))
