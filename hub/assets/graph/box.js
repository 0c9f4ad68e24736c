// The SVG of one box, and what it says to those who cannot see it.
import { cut, shape, short, spelled } from "./dom.js";
import { kindOf } from "./kinds.js";

// What is written on a box.
export function words(box, network) {
  const { nodes, tensors, groups } = network.document;
  if (box.kind === "node") {
    const operator = network.operator(box.node);
    const stored = nodes.inputs[box.node].filter((tensor) => network.stored.has(tensor));
    // Sizes and axes are no weights.
    const weights = stored.filter((tensor) => !/^(int64|bool|string)/.test(network.type(tensor))).map((tensor) => network.shape(tensor)).filter(Boolean)[0];
    const title = operator.replace(/^.*::/, "");
    const levels = nodes.name[box.node].split("/").filter(Boolean);
    // Exporters end names with the operator, which the box has as its title.
    if (levels.length > 1 && levels.at(-1).startsWith(title)) levels.pop();
    const last = levels.at(-1) === title ? "" : (levels.at(-1) ?? "");
    const name = /^.{0,2}$|^\d+$/.test(last) && levels.length > 1 ? `${levels.at(-2)}/${last}` : last;
    return { title, line: weights ?? name, kind: kindOf(operator) };
  }
  if (box.kind === "scope") {
    const alike = groups.alike[box.group];
    const count = alike < 0 ? 0 : groups.alike.filter((other) => other === alike).length;
    const more = count > 1 ? ` · ${count} alike` : "";
    const noun = network.size[box.group] === 1 ? "node" : "nodes";
    return { title: groups.name[box.group].replace(/^(Block \d+): .*$/, "$1") || "network", line: `${spelled(network.size[box.group])} ${noun}${more}`, kind: "scope" };
  }
  return { title: tensors.name[box.tensor], line: network.type(box.tensor), kind: box.kind };
}

export function spoken(box, network, heat) {
  const { title, line } = words(box, network);
  const parts = [];
  if (box.kind === "node") {
    const { nodes } = network.document;
    parts.push(network.operator(box.node), nodes.name[box.node] ? cut(nodes.name[box.node], 80) : `node ${box.node}`);
    const type = nodes.outputs[box.node].map((tensor) => network.type(tensor)).find(Boolean);
    if (type) parts.push(`gives ${type}`);
    if (nodes.macs[box.node]) parts.push(`${short(nodes.macs[box.node])} MACs`);
  } else if (box.kind === "scope") parts.push(`closed group ${title}`, line);
  else parts.push(`${box.kind} ${title}`, line);
  if (heat?.text) parts.push(heat.text);
  if (heat?.state === "none") parts.push("no data");
  if (heat?.state === "folded") parts.push("computed at build time");
  if (heat?.grade === "inferred") parts.push("link inferred");
  parts.push(...(heat?.marks ?? []));
  return parts.filter(Boolean).join(", ");
}

// paint: {fill, ink} or null; state of the overlay in heat, or null.
export function drawBox(box, network, heat, paint, isCurrent) {
  const { title, line, kind } = words(box, network);
  const { width, height } = box;
  const [left, top] = [-width / 2, -height / 2];
  const isEnd = box.kind === "input" || box.kind === "output";
  const states = ["graph-box", `k-${kind}`, heat ? `h-${heat.state}` : "", heat?.grade ? `grade-${heat.grade}` : "", isCurrent ? "is-current" : ""];
  const group = shape("g", {
    class: states.filter(Boolean).join(" "), transform: `translate(${box.x} ${box.y})`, role: "button", tabindex: "-1",
    "data-key": box.key, "aria-label": spoken(box, network, heat), "aria-expanded": box.kind === "scope" ? "false" : null,
  });
  if (box.kind === "scope") {
    for (const shift of [8, 4]) group.append(shape("rect", { class: "graph-stack", x: left + shift, y: top - shift, width: width - 2 * shift + shift, height, rx: 8 }));
  }
  group.append(shape("rect", { class: "graph-face", x: left, y: top, width, height, rx: isEnd ? height / 2 : 8, fill: paint?.fill ?? null }));
  if (heat && heat.state === "none" && !isEnd) group.append(shape("rect", { class: "graph-hatch", x: left, y: top, width, height, rx: 8, fill: "url(#graph-hatch)" }));
  if (!isEnd && box.kind === "node") group.append(shape("path", { class: "graph-stripe", d: `M${left + 8} ${top}h-1a7 7 0 0 0 -7 7v${height - 14}a7 7 0 0 0 7 7h1z` }));
  const ink = paint?.ink ?? null;
  const value = heat?.text ?? "";
  const indent = isEnd ? 0 : box.kind === "node" ? 17 : 12;
  const room = Math.floor((width - indent - (box.kind === "scope" ? 30 : 12) - (value ? 7.4 * value.length + 8 : 0)) / 7.7);
  const place = isEnd ? { x: 0, "text-anchor": "middle" } : { x: left + indent };
  group.append(shape("text", { class: "graph-title", ...place, y: line ? -4 : 5, fill: ink }, cut(title, Math.max(4, room))));
  if (line) group.append(shape("text", { class: "graph-line", ...place, y: 13, fill: ink }, cut(line, isEnd ? 26 : Math.floor((width - indent - (box.kind === "scope" ? 30 : 10)) / 6.1))));
  if (value) group.append(shape("text", { class: "graph-value", x: -left - (box.kind === "scope" ? 30 : 10), y: -4, "text-anchor": "end", fill: ink }, value));
  if (box.kind === "scope") {
    group.append(shape("g", { class: "graph-open", "data-toggle": box.group, transform: `translate(${-left - 16} 0)` },
      shape("circle", { r: 9 }), shape("path", { d: "M-4.5 0h9M0 -4.5v9" })));
  }
  if (heat?.marks?.length) {
    const text = cut(heat.marks.join(" · "), 18);
    const room = 6 * text.length + 10;
    group.append(shape("rect", { class: "graph-mark", x: -left - room + 4, y: top - 8, width: room, height: 15, rx: 7 }),
      shape("text", { class: "graph-mark-text", x: -left - room / 2 + 4, y: top + 3, "text-anchor": "middle" }, text));
  }
  group.append(shape("title", {}, spoken(box, network, heat)));
  return group;
}
