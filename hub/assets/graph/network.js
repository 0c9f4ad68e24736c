// A network as its topology tells it (compact.js): groups as a
// tree, which of them are open, and the boxes and edges that are visible then.

export const MOST_BOXES = 150; // when a page opens
export const MOST_OPEN = 10_000; // ever

export class Network {
  constructor(document) {
    this.document = document;
    const { nodes, groups, edges } = document;
    this.count = nodes.name.length;
    this.drawn = []; // nodes that are drawn: constants are not
    this.members = groups.name.map(() => []);
    this.inner = groups.name.map(() => []);
    for (let node = 0; node < this.count; node++) {
      if (nodes.x[node] === null) continue;
      this.drawn.push(node);
      this.members[nodes.group[node]].push(node);
    }
    groups.parent.forEach((parent, group) => parent >= 0 && this.inner[parent].push(group));
    this.size = groups.name.map((_, group) => this.members[group].length);
    for (let group = groups.name.length - 1; group > 0; group--) this.size[groups.parent[group]] += this.size[group];
    this.open = new Set([0]);
    this.maker = new Map();
    nodes.outputs.forEach((made, node) => made.forEach((tensor) => tensor >= 0 && this.maker.set(tensor, node)));
    this.stored = new Map(document.initializers.tensor.map((tensor, place) => [tensor, place]));
    this.details = new Map(); // node to {attributes, statistics by tensor}, once they were fetched
    this.after = new Map();
    this.before = new Map();
    edges.source.forEach((source, place) => {
      push(this.after, source, edges.target[place]);
      push(this.before, edges.target[place], source);
    });
    this.openFirst();
  }

  operator(node) {
    return this.document.operators[this.document.nodes.operator[node]];
  }

  path(group) {
    const names = [];
    for (let at = group; at > 0; at = this.document.groups.parent[at]) names.unshift(this.document.groups.name[at]);
    return names.join("/");
  }

  // "float32[1, 64, 56, 56]"
  type(tensor) {
    const { dtype, shape } = this.document.tensors;
    const name = dtype[tensor] >= 0 ? this.document.dtypes[dtype[tensor]] : "";
    return `${name}${shape[tensor] ? `[${shape[tensor].join(", ")}]` : ""}`;
  }

  // "1×64×56×56"
  shape(tensor) {
    const shape = this.document.tensors.shape[tensor];
    return shape && shape.length ? shape.join("×") : "";
  }

  // Opens groups, outer ones first, while the boxes remain few.
  openFirst(most = MOST_BOXES) {
    this.open = new Set([0]);
    let boxes = this.members[0].length + this.inner[0].length;
    const queue = [...this.inner[0]];
    // Large groups of a level first: they say least when they are closed.
    while (queue.length) {
      queue.sort((a, b) => this.depth(a) - this.depth(b) || this.size[b] - this.size[a] || a - b);
      const group = queue.shift();
      const more = this.members[group].length + this.inner[group].length - 1;
      if (boxes + more > most) continue;
      boxes += more;
      this.open.add(group);
      queue.push(...this.inner[group]);
    }
  }

  depth(group) {
    let depth = 0;
    for (let at = group; at > 0; at = this.document.groups.parent[at]) depth++;
    return depth;
  }

  // The closed group that hides a node, or -1.
  hider(node) {
    let hider = -1;
    for (let at = this.document.nodes.group[node]; at > 0; at = this.document.groups.parent[at]) if (!this.open.has(at)) hider = at;
    return hider;
  }

  show(node) {
    for (let at = this.document.nodes.group[node]; at > 0; at = this.document.groups.parent[at]) this.open.add(at);
  }

  close(group) {
    const queue = [group];
    while (queue.length) {
      const at = queue.pop();
      this.open.delete(at);
      queue.push(...this.inner[at]);
    }
  }

  // Whether all could be opened; opens as many as the bound allows.
  openAll() {
    this.openFirst(MOST_OPEN);
    return this.open.size === this.document.groups.name.length;
  }

  // Boxes and edges: [{key, kind: node | scope | input | output, node, group, tensor, order}], and
  // [{from, to, tensors}] between their positions.
  visible() {
    const { nodes, edges, inputs, outputs } = this.document;
    const boxes = [];
    const place = new Map();
    const add = (box) => {
      place.set(box.key, boxes.length);
      boxes.push(box);
    };
    const home = new Int32Array(this.count).fill(-1);
    const queue = [0];
    while (queue.length) {
      const group = queue.pop();
      if (!this.open.has(group)) {
        const all = this.all(group);
        const order = all.reduce((sum, node) => sum + nodes.y[node], 0) / Math.max(all.length, 1);
        const seed = all.reduce((sum, node) => sum + nodes.x[node], 0) / Math.max(all.length, 1);
        for (const node of all) home[node] = boxes.length;
        add({ key: `g${group}`, kind: "scope", group, node: -1, order, seed });
        continue;
      }
      for (const node of this.members[group]) {
        home[node] = boxes.length;
        add({ key: `n${node}`, kind: "node", node, group: nodes.group[node], order: nodes.y[node], seed: nodes.x[node] });
      }
      for (const inner of this.inner[group]) queue.push(inner);
    }
    const lines = new Map();
    const join = (from, to, tensor) => {
      if (from === to || from < 0 || to < 0) return;
      const key = from * 1_000_003 + to;
      const line = lines.get(key);
      if (!line) lines.set(key, { from, to, tensors: [tensor] });
      else if (line.tensors.length < 8 && !line.tensors.includes(tensor)) line.tensors.push(tensor);
    };
    edges.source.forEach((source, at) => join(home[source], home[edges.target[at]], edges.tensor[at]));
    const readers = this.readers();
    for (const [side, tensors] of [["input", inputs], ["output", outputs]]) {
      tensors.slice(0, 200).forEach((tensor, at) => {
        const ends = side === "input" ? readers.get(tensor) ?? [] : this.maker.has(tensor) ? [this.maker.get(tensor)] : [];
        const homes = ends.map((node) => home[node]).filter((box) => box >= 0);
        const seeds = homes.map((box) => boxes[box].seed);
        const seed = seeds.length ? seeds.reduce((a, b) => a + b) / seeds.length : 0;
        const own = boxes.length;
        add({ key: `${side[0]}${at}`, kind: side, tensor, node: -1, group: 0, order: side === "input" ? -1 : Infinity, seed });
        for (const box of homes) side === "input" ? join(own, box, tensor) : join(box, own, tensor);
      });
    }
    this.home = home;
    return { boxes, edges: [...lines.values()], place };
  }

  // Drawn nodes of a group, at any depth.
  all(group) {
    const found = [];
    const queue = [group];
    while (queue.length) {
      const at = queue.pop();
      for (const node of this.members[at]) found.push(node);
      queue.push(...this.inner[at]);
    }
    return found;
  }

  readers() {
    if (this.read) return this.read;
    this.read = new Map();
    this.document.nodes.inputs.forEach((tensors, node) => {
      for (const tensor of new Set(tensors)) push(this.read, tensor, node);
    });
    return this.read;
  }
}

export function push(map, key, value) {
  const values = map.get(key);
  if (values) values.push(value);
  else map.set(key, [value]);
}
