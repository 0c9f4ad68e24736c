// What the document tells of a node, a closed group or the whole network, as elements beside the graph.
import { bytes, cut, make, shape, short, spelled } from "./dom.js";

const MOST = 60;

export function details(network, target, go) {
  if (target?.kind === "node") return ofNode(network, target.node, go);
  if (target?.kind === "scope") return ofGroup(network, target.group, go);
  if (target?.tensor >= 0) return [heading(network.document.tensors.name[target.tensor], target.kind), facts([["Type", network.type(target.tensor) || "unknown"]])];
  return ofNetwork(network, go);
}

const heading = (text, kind) => make("header", {}, make("p", { class: "graph-kicker" }, kind), make("h3", {}, text));
const section = (title, ...children) => make("section", {}, make("h4", {}, title), ...children);

function linkTo(node, text, go) {
  return make("a", { href: `#node=${node}`, onclick: (event) => {
    event.preventDefault();
    go(node);
  } }, text);
}

function facts(rows) {
  return make("dl", {}, ...rows.filter(([, value]) => value !== "" && value !== null && value !== undefined).flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
}

function ofNode(network, node, go) {
  const { nodes, bodies } = network.document;
  const { attributes, statistics } = network.details.get(node) ?? { attributes: [], statistics: {} };
  const operator = network.operator(node);
  const path = network.path(nodes.group[node]);
  const runs = bodies.node.map((owner, at) => [owner, at]).filter(([owner]) => owner === node);
  return [
    heading(operator, `node ${node}`),
    facts([
      ["Name", nodes.name[node]],
      ["In", path || null],
      ["Part of", nodes.body[node] ? `${bodies.name[nodes.body[node]]} of ${network.operator(bodies.node[nodes.body[node]])} ${bodies.node[nodes.body[node]]}` : null],
      ["MACs", nodes.macs[node] === null ? "unknown" : nodes.macs[node] ? spelled(nodes.macs[node]) : null],
      ["Weights", nodes.parameter_bytes[node] ? bytes(nodes.parameter_bytes[node]) : null],
      ["Runs", runs.length ? runs.map(([, at]) => bodies.name[at]).join(", ") : null],
    ]),
    attributes.length ? section("Attributes", make("dl", { class: "graph-attributes" }, ...attributes.flatMap(([name, kind, value]) => [make("dt", { title: kind }, name), make("dd", {}, value)]))) : null,
    section("Inputs", ...values(network, nodes.inputs[node], (tensor) => [network.maker.get(tensor)], go, statistics)),
    section("Outputs", ...values(network, nodes.outputs[node], (tensor) => network.readers().get(tensor) ?? [], go)),
  ];
}

function values(network, tensors, ends, go, statistics = {}) {
  const shown = tensors.slice(0, MOST).map((tensor) => {
    if (tensor < 0) return make("p", { class: "graph-value-row muted" }, "omitted");
    const links = ends(tensor).filter((node) => node !== undefined && network.document.nodes.x[node] !== null);
    const row = make("div", { class: "graph-value-row" },
      make("p", {}, make("code", {}, cut(network.document.tensors.name[tensor], 60)), " ", make("span", { class: "graph-type" }, network.type(tensor) || "type unknown")),
      links.length ? make("p", { class: "graph-links" }, ...links.slice(0, 12).map((node) =>
        linkTo(node, network.operator(node).replace(/^.*::/, ""), go)), links.length > 12 ? ` and ${links.length - 12} more` : "") : null);
    const place = network.stored.get(tensor);
    if (place !== undefined) row.append(...weights(statistics[tensor], network.document.initializers.bytes[place]));
    return row;
  });
  if (tensors.length > MOST) shown.push(make("p", { class: "muted" }, `Showing ${MOST} of ${spelled(tensors.length)}.`));
  return shown.length ? shown : [make("p", { class: "muted" }, "none")];
}

function weights(found, size) {
  if (!found) return [make("p", { class: "graph-type" }, `stored, ${bytes(size)}`)];
  const figure = (value) => (value === null ? "none" : String(value));
  const rows = [
    ["Range", found.min === null ? "no finite value" : `${figure(found.min)} to ${figure(found.max)}`],
    ["Mean ± std", found.mean === null ? null : `${figure(found.mean)} ± ${figure(found.std)}`],
    ["Zeros", found.zeros ? `${(100 * found.zeros).toPrecision(3)} %` : "0 %"],
    ["NaN", found.nan ? spelled(found.nan) : null],
    ["Infinite", found.inf ? spelled(found.inf) : null],
    ["Stored", bytes(size)],
    ["Read", found.counted < found.elements ? `${spelled(found.counted)} of ${spelled(found.elements)}` : null],
  ];
  return [histogram(found), facts(rows)].filter(Boolean);
}

function histogram(found) {
  if (found.histogram.length < 2 || found.min === found.max) return null;
  const most = Math.max(...found.histogram);
  const width = 10;
  return shape("svg", { class: "graph-histogram", viewBox: `0 0 ${width * found.histogram.length} 44`, role: "img", "aria-label": `Histogram from ${found.min} to ${found.max}: ${found.histogram.join(", ")}` },
    ...found.histogram.map((count, at) => {
      const height = count ? Math.max(1, (42 * count) / most) : 0;
      return shape("rect", { x: at * width, y: 43 - height, width: width - 1, height });
    }),
    shape("path", { d: `M0 43.5H${width * found.histogram.length}` }));
}

function ofGroup(network, group, go) {
  const { groups } = network.document;
  const nodes = network.all(group);
  const alike = groups.alike[group];
  const others = alike < 0 ? [] : groups.alike.map((other, at) => (other === alike && at !== group ? at : -1)).filter((at) => at >= 0);
  return [
    heading(groups.name[group] || "The network", { scope: "scope", block: "repeated structure", part: "part", body: "body of control flow", network: "network" }[groups.kind[group]]),
    facts([["Path", network.path(group)], ["Nodes", spelled(nodes.length)], ["Alike", others.length ? `${others.length} other${others.length > 1 ? "s" : ""} with the same operators` : null], ...totals(network, nodes)]),
    section("Operators", operators(network, nodes, go)),
  ];
}

function ofNetwork(network, go) {
  const { document } = network;
  return [
    heading(document.path, document.format === "tflite" ? "TensorFlow Lite" : "ONNX"),
    facts([["Nodes", spelled(document.totals.nodes)], ["Edges", spelled(document.totals.edges)], ["Initializers", spelled(document.initializers.tensor.length)], ...totals(network, network.drawn)]),
    section("Inputs", ...values(network, document.inputs, (tensor) => network.readers().get(tensor) ?? [], go)),
    section("Outputs", ...values(network, document.outputs, (tensor) => [network.maker.get(tensor)], go)),
    section("Operators", operators(network, network.drawn, go)),
  ];
}

function totals(network, nodes) {
  const { macs } = network.document.nodes;
  const unknown = nodes.filter((node) => macs[node] === null).length;
  const sum = nodes.reduce((total, node) => total + (macs[node] ?? 0), 0);
  const stored = new Set(nodes.flatMap((node) => network.document.nodes.inputs[node].filter((tensor) => network.stored.has(tensor))));
  const size = [...stored].reduce((total, tensor) => total + network.document.initializers.bytes[network.stored.get(tensor)], 0);
  return [["MACs", sum || unknown < nodes.length ? `${short(sum)}${unknown ? `, and ${unknown} nodes unknown` : ""}` : "unknown"], ["Weights", bytes(size)]];
}

function operators(network, nodes, go) {
  const counts = new Map();
  for (const node of nodes) {
    const operator = network.operator(node);
    const entry = counts.get(operator) ?? { count: 0, macs: 0, first: node };
    entry.count++;
    entry.macs += network.document.nodes.macs[node] ?? 0;
    counts.set(operator, entry);
  }
  const rows = [...counts].sort((a, b) => b[1].count - a[1].count || (a[0] < b[0] ? -1 : 1));
  const shown = rows.slice(0, MOST).map(([operator, entry]) => make("tr", {},
    make("td", {}, linkTo(entry.first, operator, go)), make("td", { class: "number" }, spelled(entry.count)), make("td", { class: "number" }, entry.macs ? short(entry.macs) : "")));
  const table = make("table", {}, make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Operator"), make("th", { scope: "col", class: "number" }, "Nodes"), make("th", { scope: "col", class: "number" }, "MACs"))), make("tbody", {}, ...shown));
  return rows.length > MOST ? make("div", {}, table, make("p", { class: "muted" }, `Showing ${MOST} of ${rows.length}.`)) : table;
}
