// A compact topology (registry/selectors/analysis/compacttopology.py): its columns written out, as in the
// document hpcfair.topology/1, but without attributes and statistics of weights.

const sums = (steps) => {
  let sum = 0;
  return steps.map((step) => (sum += step));
};

const places = ({ unit, steps }) => sums(steps).map((place) => (place < 0 ? null : place * unit));

function lists({ count, steps }) {
  const numbers = sums(steps);
  let at = 0;
  return count.map((length) => numbers.slice(at, (at += length)));
}

export function networkOf(compact) {
  const { tensors, initializers } = compact;
  const nodes = {
    ...compact.nodes,
    group: sums(compact.nodes.group),
    body: sums(compact.nodes.body),
    x: places(compact.nodes.x),
    y: places(compact.nodes.y),
    inputs: lists(compact.nodes.inputs),
    outputs: lists(compact.nodes.outputs),
  };
  const maker = new Map();
  nodes.outputs.forEach((made, node) => made.forEach((tensor) => tensor >= 0 && maker.set(tensor, node)));
  return {
    ...compact,
    nodes,
    tensors: {
      name: tensors.name.map((name, tensor) => (typeof name === "string" ? name : nodes.name[maker.get(tensor)] + tensors.suffixes[name])),
      dtype: tensors.type.map((type) => tensors.types[type][0]),
      shape: tensors.type.map((type) => tensors.types[type][1]),
    },
    initializers: { tensor: sums(initializers.tensor), bytes: initializers.bytes },
    edges: compact.edges ?? flow(nodes, maker),
  };
}

// Edges that follow from inputs and outputs.
function flow(nodes, maker) {
  const edges = { source: [], target: [], tensor: [] };
  nodes.inputs.forEach((read, node) => {
    if (nodes.x[node] === null) return;
    for (const tensor of new Set(read)) {
      const source = maker.get(tensor);
      if (source === undefined || source === node || nodes.x[source] === null) continue;
      edges.source.push(source);
      edges.target.push(node);
      edges.tensor.push(tensor);
    }
  });
  return edges;
}
