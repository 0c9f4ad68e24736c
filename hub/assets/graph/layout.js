// Layered drawing of the visible boxes: layers by the longest path, order by barycentres, places by
// isotonic regression, as workers/inspection/topology/layout.py; and a lane for each edge that
// passes layers, shared by the edges of one box.

export const BOX = { width: 172, height: 46, gapX: 26, gapY: 50, lane: 14 };
const MOST_LANES = 20_000;
const ORDER_SWEEPS = 8;
const PLACE_SWEEPS = 10;
const SLACK = 9; // that a straight line is worth

// boxes: [{kind, order, seed}], edges: [{from, to}]. Sets x, y (centres) and rank of the boxes; returns
// {width, height, layers, lines: [{from, to, points, segments}], segments: [{x0, y0, x1, y1, lines, arrow}]}.
export function layOut(boxes, edges) {
  const { forward, back } = orient(boxes, edges);
  rank(boxes, forward);
  const { cells, chains } = lanes(boxes, forward);
  const layers = [];
  for (const cell of cells) (layers[cell.rank] ??= []).push(cell);
  for (const layer of layers) layer.sort((a, b) => a.seed - b.seed || a.number - b.number);
  order(layers);
  place(layers);
  const left = Math.min(0, ...extremes(cells, (cell) => cell.x - cell.width / 2, Math.min));
  const top = BOX.height / 2 + BOX.gapY / 2;
  const pitch = BOX.height + BOX.gapY;
  for (const cell of cells) {
    cell.x += BOX.gapX - left;
    cell.y = top + cell.rank * pitch;
    if (cell.box) Object.assign(cell.box, { x: cell.x, y: cell.y, width: cell.width, height: BOX.height });
  }
  const right = Math.max(0, ...extremes(cells, (cell) => cell.x + cell.width / 2, Math.max));
  return {
    ...route(chains, back, boxes, right),
    layers: layers.map((layer) => layer.filter((cell) => cell.box).map((cell) => cell.box)),
    width: right + BOX.gapX + (back.length ? 60 : 0),
    height: layers.length * pitch + BOX.gapY / 2,
  };
}

function extremes(cells, value, choose) {
  return cells.length ? [cells.reduce((best, cell) => choose(best, value(cell)), value(cells[0]))] : [];
}

// Edges that go forward, and those that would close a cycle: closed groups may read each other.
function orient(boxes, edges) {
  const after = boxes.map(() => []);
  const missing = boxes.map(() => 0);
  for (const edge of edges) {
    after[edge.from].push(edge.to);
    missing[edge.to]++;
  }
  const byOrder = boxes.map((_, at) => at).sort((a, b) => boxes[a].order - boxes[b].order || a - b);
  const position = new Int32Array(boxes.length).fill(-1);
  const ready = byOrder.filter((at) => !missing[at]).reverse();
  let done = 0;
  let next = 0;
  while (done < boxes.length) {
    if (!ready.length) {
      while (position[byOrder[next]] >= 0) next++;
      ready.push(byOrder[next]);
    }
    const at = ready.pop();
    if (position[at] >= 0) continue;
    position[at] = done++;
    for (const to of after[at]) if (--missing[to] === 0 && position[to] < 0) ready.push(to);
  }
  const forward = [];
  const back = [];
  for (const edge of edges) (position[edge.from] < position[edge.to] ? forward : back).push(edge);
  forward.sort((a, b) => position[a.from] - position[b.from]);
  return { forward, back };
}

function rank(boxes, forward) {
  for (const box of boxes) box.rank = 0;
  for (const { from, to } of forward) boxes[to].rank = Math.max(boxes[to].rank, boxes[from].rank + 1);
  // Sources that feed only deep boxes move down beside them.
  const first = boxes.map(() => Infinity);
  const isRead = boxes.map(() => false);
  for (const { from, to } of forward) {
    first[from] = Math.min(first[from], boxes[to].rank);
    isRead[to] = true;
  }
  boxes.forEach((box, at) => {
    if (!isRead[at] && Number.isFinite(first[at])) box.rank = Math.max(0, first[at] - 1);
  });
  const last = boxes.reduce((most, box) => Math.max(most, box.rank), 0);
  for (const box of boxes) if (box.kind === "output") box.rank = Math.max(box.rank, Math.min(last, box.rank));
}

// Cells of boxes and of lanes; chains: [{edge, cells}] from box to box.
function lanes(boxes, forward) {
  const cells = boxes.map((box, number) => cell(number, box.rank, box.seed, BOX.width, box));
  const span = forward.reduce((sum, { from, to }) => sum + boxes[to].rank - boxes[from].rank - 1, 0);
  const withLanes = span <= 4 * MOST_LANES;
  const lanesOf = boxes.map(() => []);
  const chains = forward.map((edge) => {
    const source = cells[edge.from];
    const target = cells[edge.to];
    const chain = [source];
    if (withLanes && cells.length < boxes.length + MOST_LANES) {
      const lane = lanesOf[edge.from];
      for (let rank = source.rank + 1; rank < target.rank; rank++) {
        const at = rank - source.rank - 1;
        if (!lane[at]) {
          lane[at] = cell(cells.length, rank, (source.seed + target.seed) / 2, BOX.lane, null);
          cells.push(lane[at]);
        }
        chain.push(lane[at]);
      }
    }
    chain.push(target);
    for (let at = 1; at < chain.length; at++) {
      if (chain[at - 1].down.has(chain[at])) continue;
      chain[at - 1].down.add(chain[at]);
      chain[at].up.add(chain[at - 1]);
    }
    return { edge, cells: chain };
  });
  for (const one of cells) {
    // What computes the same in every run, or is an input, hangs on the main path and does not pull it.
    one.isLeaf = Boolean(one.box) && !one.up.size && one.box.kind !== "input";
    // Long edges that could not get lanes do not pull on the order.
    one.up = [...one.up].filter((other) => other.rank === one.rank - 1);
    one.down = [...one.down].filter((other) => other.rank === one.rank + 1);
  }
  return { cells, chains };
}

function cell(number, rank, seed, width, box) {
  return { number, rank, seed, width, box, up: new Set(), down: new Set(), x: seed, at: 0 };
}

function order(layers) {
  const number = (layer) => layer.forEach((one, at) => (one.at = at - (layer.length - 1) / 2));
  layers.forEach(number);
  for (let sweep = 0; sweep < ORDER_SWEEPS; sweep++) {
    const down = sweep % 2 === 0;
    for (const layer of down ? layers : [...layers].reverse()) {
      for (const one of layer) {
        const near = down ? one.up : one.down;
        one.key = near.length ? near.reduce((sum, other) => sum + other.at, 0) / near.length : one.at;
      }
      // Lanes to the side of the boxes that they pass.
      layer.sort((a, b) => a.key - b.key || (b.box ? 1 : 0) - (a.box ? 1 : 0) || a.at - b.at);
      number(layer);
    }
  }
}

function place(layers) {
  for (const layer of layers) {
    let x = 0;
    layer.forEach((one, at) => {
      if (at) x += distance(layer[at - 1], one);
      one.x = x;
    });
    const middle = x / 2;
    for (const one of layer) one.x -= middle;
  }
  for (let sweep = 0; sweep < PLACE_SWEEPS; sweep++) {
    const both = sweep >= PLACE_SWEEPS - 2;
    const down = sweep % 2 === 0;
    for (const layer of down ? layers : [...layers].reverse()) settle(layer, both ? null : down);
  }
  straighten(layers);
}

// Moves what follows one cell only, and is its only follower, exactly below it, where there is room.
function straighten(layers) {
  for (const layer of layers) {
    layer.forEach((one, at) => {
      const up = one.up.filter((other) => !other.isLeaf);
      if (up.length !== 1 || up[0].down.length !== 1) return;
      const { x } = up[0];
      const left = layer[at - 1];
      const right = layer[at + 1];
      if (left && x - left.x < distance(left, one) - SLACK) return;
      if (right && right.x - x < distance(one, right) - SLACK) return;
      one.x = x;
    });
  }
}

function settle(layer, down) {
  const offsets = [];
  let offset = 0;
  const pools = [];
  layer.forEach((one, at) => {
    if (at) offset += distance(layer[at - 1], one);
    offsets.push(offset);
    const all = down === null ? [...one.up, ...one.down] : down ? one.up : one.down;
    const main = one.isLeaf ? all : all.filter((other) => !other.isLeaf);
    const near = main.length ? main : down === null ? all : [];
    let sum = 0;
    let weight = 0;
    for (const other of near) {
      // Lanes stay straight.
      const pull = one.box || other.box ? 1 : 6;
      sum += pull * other.x;
      weight += pull;
    }
    const wanted = weight ? sum / weight : one.x;
    const own = one.box ? 1 : 2;
    pools.push({ mean: wanted - offset, weight: weight ? own : own / 4, count: 1 });
    while (pools.length > 1 && pools.at(-2).mean > pools.at(-1).mean) {
      const last = pools.pop();
      const pool = pools.at(-1);
      const total = pool.weight + last.weight;
      pool.mean = (pool.mean * pool.weight + last.mean * last.weight) / total;
      pool.weight = total;
      pool.count += last.count;
    }
  });
  let at = 0;
  for (const pool of pools) for (let n = 0; n < pool.count; n++, at++) layer[at].x = pool.mean + offsets[at];
}

const distance = (a, b) => (a.width + b.width) / 2 + (a.box && b.box ? BOX.gapX : BOX.gapX / 2);

function route(chains, back, boxes, right) {
  const segments = [];
  const shared = new Map();
  const lines = [];
  for (const { edge, cells } of chains) {
    const line = { ...edge, segments: [] };
    for (let at = 1; at < cells.length; at++) {
      const [from, to] = [cells[at - 1], cells[at]];
      const key = from.number * 1_000_003 + to.number;
      let segment = shared.get(key);
      if (!segment) {
        segment = {
          x0: from.x, y0: from.y + BOX.height / 2, x1: to.x, y1: to.y - BOX.height / 2,
          inset: to.box?.kind === "scope" ? 13 : 5, through: !to.box, arrow: Boolean(to.box), lines: [], number: segments.length,
        };
        shared.set(key, segment);
        segments.push(segment);
      }
      segment.lines.push(lines.length);
      line.segments.push(segment.number);
    }
    lines.push(line);
  }
  back.forEach((edge, at) => {
    const [from, to] = [boxes[edge.from], boxes[edge.to]];
    segments.push({
      x0: from.x + BOX.width / 2, y0: from.y, x1: to.x + BOX.width / 2, y1: to.y,
      side: right + 14 + (at % 5) * 8, arrow: true, back: true, lines: [lines.length], number: segments.length,
    });
    lines.push({ ...edge, segments: [segments.length - 1], back: true });
  });
  return { lines, segments };
}

export function pathOf(segment) {
  const { x0, y0, x1, y1 } = segment;
  if (segment.back) return `M${x0} ${y0}C${segment.side} ${y0} ${segment.side} ${y1} ${x1 + 6} ${y1}`;
  const end = segment.arrow ? y1 - segment.inset : y1;
  const bend = Math.min(40, (end - y0) / 2);
  const curve = Math.abs(x0 - x1) < 0.5 ? `M${x0} ${y0}V${end}` : `M${x0} ${y0}C${x0} ${y0 + bend} ${x1} ${end - bend} ${x1} ${end}`;
  return segment.through ? `${curve}V${y1 + BOX.height}` : curve;
}
