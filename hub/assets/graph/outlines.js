// Outlines around boxes: of open groups of the network, and of groups of the overlay.
import { cut, shape } from "./dom.js";
import { BOX, pathOf } from "./layout.js";

// Outlines of the open groups that enclose no box of another group, each around what it has inside.
export function outlinesOf(network, drawing) {
  const { parent } = network.document.groups;
  if (network.open.size < 2 || network.open.size > 600) return [];
  const areas = new Map();
  const boxes = drawing.layers.flat();
  for (const box of boxes) {
    if (box.kind !== "node" && box.kind !== "scope") continue;
    const depths = [];
    for (let at = box.kind === "scope" ? parent[box.group] : box.group; at > 0; at = parent[at]) depths.push(at);
    box.within = new Set(depths);
    depths.forEach((group, level) => {
      const area = areas.get(group) ?? { group, left: Infinity, right: -Infinity, top: Infinity, bottom: -Infinity, level: 0 };
      area.left = Math.min(area.left, box.x - box.width / 2);
      area.right = Math.max(area.right, box.x + box.width / 2);
      area.top = Math.min(area.top, box.rank);
      area.bottom = Math.max(area.bottom, box.rank);
      area.level = Math.max(area.level, level);
      areas.set(group, area);
    });
  }
  const outlines = [];
  for (const area of areas.values()) {
    let isAlone = true;
    for (let rank = area.top; rank <= area.bottom && isAlone; rank++) {
      isAlone = drawing.layers[rank].every((box) => box.within?.has(area.group) || box.x + box.width / 2 < area.left - 8 || box.x - box.width / 2 > area.right + 8);
    }
    if (!isAlone) continue;
    // Inner outlines stay inside outer ones.
    const margin = 9 + 4 * Math.min(area.level, 4);
    const head = 17 + 13 * Math.min(area.level, 2);
    const pitch = BOX.height + BOX.gapY;
    const top = BOX.gapY / 2 + area.top * pitch - head;
    outlines.push({ group: area.group, level: area.level, x: area.left - margin, y: top, width: area.right - area.left + 2 * margin, height: (area.bottom - area.top) * pitch + BOX.height + head + margin });
  }
  return outlines.sort((a, b) => b.level - a.level || a.group - b.group);
}

// The outline of an open group, with its name and the button that closes it.
export function scopeOf(outline, name) {
  const { group, x, y, width, height } = outline;
  return shape("g", { class: "graph-scope" },
    shape("rect", { x, y, width, height, rx: 12 }),
    shape("text", { x: x + 24, y: y + 13 }, cut(name, Math.max(6, Math.floor((width - 34) / 6.4)))),
    shape("g", { class: "graph-open", "data-close": group, transform: `translate(${x + 12} ${y + 9})` },
      shape("circle", { r: 7 }), shape("path", { d: "M-3.5 0h7" }), shape("title", {}, `Close ${name}`)));
}

// One outline around all nodes of a group of the overlay: their boxes and the lines between them, wide.
export function hullsOf(view, boxes) {
  const { overlay } = view.state;
  if (!overlay) return [];
  const groups = new Set(boxes.filter((box) => box.kind === "node").map((box) => overlay.byNode.get(box.node)).filter((group) => group && group.nodes.length > 1));
  return [...groups].map((group) => {
    const own = group.nodes.map((node) => view.place.get(`n${node}`)).filter((at) => at !== undefined);
    if (own.length < 2) return null;
    const inside = new Set(own);
    const isChosen = own.some((at) => view.state.selected.has(view.shown[at].key));
    const lines = view.drawing.lines.filter((line) => inside.has(line.from) && inside.has(line.to));
    return shape("g", { class: `graph-hull${isChosen ? " is-chosen" : ""}`, "data-group": group.id },
      ...lines.flatMap((line) => line.segments.map((at) => shape("path", { d: pathOf(view.drawing.segments[at]) }))),
      ...own.map((at) => view.shown[at]).map((box) => shape("rect", { x: box.x - box.width / 2 - 7, y: box.y - box.height / 2 - 7, width: box.width + 14, height: box.height + 14, rx: 14 })));
  }).filter(Boolean);
}
