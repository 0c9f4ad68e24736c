// Draws the visible part: boxes and edges as SVG while they are few, else on a canvas beneath it. Pans
// and zooms by pointer, wheel, touch and keys.
import { drawBox, words } from "./box.js";
import { cut, make, shape } from "./dom.js";
import { BOX, layOut, pathOf } from "./layout.js";
import { Minimap } from "./minimap.js";
import { heat } from "./overlay.js";

// Live elements: boxes, and segments of edges.
const MOST_BOXES = 150;
const MOST_SEGMENTS = 150;
const MOST_OUTLINES = 40;
const [LEAST_SCALE, MOST_SCALE] = [0.02, 3];

export class View {
  // state: {network, overlay, current: key, selected: Set of keys}; actions: {press(box), toggle(box)}.
  constructor(state, actions, label) {
    this.state = state;
    this.actions = actions;
    this.scale = 1;
    this.x = 0;
    this.y = 0;
    this.live = new Map();
    this.canvas = make("canvas", { class: "graph-canvas", "aria-hidden": "true" });
    this.scopes = shape("g", { class: "graph-scopes" });
    this.hulls = shape("g", { class: "graph-hulls" });
    this.lines = shape("g", { class: "graph-lines" });
    this.boxes = shape("g", {});
    this.scene = shape("g", {}, this.scopes, this.hulls, this.lines, this.boxes);
    this.svg = shape("svg", { class: "graph-svg", role: "application", "aria-roledescription": "graph", "aria-label": label }, this.definitions(), this.scene);
    this.map = new Minimap((x, y) => this.centre(x, y));
    this.element = make("div", { class: "graph-stage" }, this.canvas, this.svg, this.map.canvas);
    this.listen();
    new ResizeObserver(() => this.resize()).observe(this.element);
  }

  definitions() {
    return shape("defs", {},
      shape("marker", { id: "graph-arrow", viewBox: "0 0 8 8", refX: 1, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto" }, shape("path", { class: "graph-tip", d: "M0 0.5L7.5 4L0 7.5z" })),
      shape("pattern", { id: "graph-hatch", width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, shape("path", { class: "graph-hatching", d: "M0 0V7" })));
  }

  // Lays the visible boxes out anew; the box `keep` stays where it is on the screen.
  rebuild(keep = null) {
    const before = keep && this.place?.has(keep) ? this.screen(this.shown[this.place.get(keep)]) : null;
    const { boxes, edges, place } = this.state.network.visible();
    this.drawing = layOut(boxes, edges);
    this.shown = boxes;
    this.place = place;
    this.outlines = outlinesOf(this.state.network, this.drawing);
    this.measure();
    const kept = place.get(keep);
    if (before && kept !== undefined) {
      this.x = before.x - boxes[kept].x * this.scale;
      this.y = before.y - boxes[kept].y * this.scale;
    }
    this.clear();
    this.render();
  }

  // Values of the boxes, after a change of the overlay or of its scale.
  measure() {
    const { overlay, network } = this.state;
    for (const box of this.shown) box.heat = overlay ? overlay.of(box, network) : null;
    this.most = this.shown.reduce((most, box) => Math.max(most, Math.abs(box.heat?.value ?? 0)), 0);
  }

  repaint() {
    this.measure();
    this.clear();
    this.map.isStale = true;
    this.render();
  }

  clear() {
    for (const element of this.live.values()) element.remove();
    this.live.clear();
    this.lines.replaceChildren();
    this.hulls.replaceChildren();
    this.scopes.replaceChildren();
    this.drawnLines = "";
  }

  paint(box) {
    const { overlay } = this.state;
    if (!overlay || box.heat?.state !== "hot") return null;
    return heat(overlay.bin(box.heat.value, this.most), overlay.isDiverging, this.style.isDark);
  }

  get style() {
    if (this.styles) return this.styles;
    const read = getComputedStyle(this.element);
    const color = (name) => read.getPropertyValue(name).trim();
    const probe = (name) => {
      this.element.style.setProperty("outline-color", `var(${name})`);
      return getComputedStyle(this.element).outlineColor;
    };
    this.styles = Object.fromEntries(["paper", "panel", "sunken", "ink", "soft", "line", "accent", "warn"].map((name) => [name, color(`--${name}`) && probe(`--${name}`)]));
    this.element.style.removeProperty("outline-color");
    const [red, green, blue] = this.styles.panel.match(/[\d.]+/g).map(Number);
    this.styles.isDark = red + green + blue < 380;
    return this.styles;
  }

  restyle() {
    this.styles = null;
    this.repaint();
  }

  resize() {
    const { clientWidth, clientHeight } = this.element;
    if (!clientWidth || (clientWidth === this.width && clientHeight === this.height)) return;
    const isFirst = !this.width;
    this.width = clientWidth;
    this.height = clientHeight;
    const ratio = devicePixelRatio || 1;
    this.canvas.width = Math.round(clientWidth * ratio);
    this.canvas.height = Math.round(clientHeight * ratio);
    if (isFirst) this.home();
    this.render();
  }

  // The top of the drawing, as wide as fits.
  home() {
    if (!this.drawing || !this.width) return;
    this.scale = Math.max(0.7, Math.min(1, (this.width - 20) / this.drawing.width));
    const first = this.shown.find((box) => box.kind === "input") ?? this.drawing.layers[0]?.[0];
    const centre = this.drawing.width * this.scale <= this.width || !first ? this.drawing.width / 2 : first.x;
    this.x = this.width / 2 - centre * this.scale;
    this.y = first ? Math.min(8, 60 - (first.y - BOX.height) * this.scale) : 8;
    this.render();
  }

  fit() {
    this.scale = Math.max(LEAST_SCALE, Math.min(1, (this.width - 24) / this.drawing.width, (this.height - 24) / this.drawing.height));
    this.x = (this.width - this.drawing.width * this.scale) / 2;
    this.y = (this.height - this.drawing.height * this.scale) / 2;
    this.render();
  }

  screen(point) {
    return { x: point.x * this.scale + this.x, y: point.y * this.scale + this.y };
  }

  centre(x, y) {
    this.x = this.width / 2 - x * this.scale;
    this.y = this.height / 2 - y * this.scale;
    this.clamp();
    this.render();
  }

  // Pans the least that brings a box into view, readable.
  reveal(key) {
    const box = this.shown[this.place.get(key)];
    if (!box || !this.width) return;
    if (this.scale < 0.55) {
      this.scale = 0.9;
      this.centre(box.x, box.y);
      return;
    }
    const { x, y } = this.screen(box);
    const [dx, dy] = [(box.width / 2 + 12) * this.scale, (box.height / 2 + 30) * this.scale];
    if (x < dx || x > this.width - dx) this.x += this.width / 2 - x;
    if (y < dy || y > this.height - dy) this.y += this.height / 2 - y;
    this.render();
  }

  pan(dx, dy) {
    const [x, y] = [this.x, this.y];
    this.x += dx;
    this.y += dy;
    this.clamp();
    this.render();
    return this.x !== x || this.y !== y;
  }

  zoom(factor, x = this.width / 2, y = this.height / 2) {
    const scale = Math.max(LEAST_SCALE, Math.min(MOST_SCALE, this.scale * factor));
    this.x = x - ((x - this.x) * scale) / this.scale;
    this.y = y - ((y - this.y) * scale) / this.scale;
    this.scale = scale;
    this.clamp();
    this.render();
  }

  clamp() {
    const margin = 80;
    const [width, height] = [this.drawing.width * this.scale, this.drawing.height * this.scale];
    this.x = Math.max(margin - width, Math.min(this.width - margin, this.x));
    this.y = Math.max(margin - height, Math.min(this.height - margin, this.y));
  }

  render() {
    if (this.isAwaited) return;
    this.isAwaited = true;
    requestAnimationFrame(() => {
      this.isAwaited = false;
      if (this.drawing && this.width) this.draw();
    });
  }

  draw() {
    const { drawing, scale } = this;
    const frame = { x: -this.x / scale, y: -this.y / scale, width: this.width / scale, height: this.height / scale };
    const [right, bottom] = [frame.x + frame.width, frame.y + frame.height];
    const pitch = BOX.height + BOX.gapY;
    const from = Math.max(0, Math.floor(frame.y / pitch) - 1);
    const boxes = [];
    for (let rank = from; rank <= Math.min(drawing.layers.length - 1, Math.ceil(bottom / pitch)); rank++) {
      for (const box of drawing.layers[rank]) {
        if (Math.abs(box.x - (frame.x + right) / 2) > (frame.width + box.width) / 2) continue;
        if (Math.abs(box.y - (frame.y + bottom) / 2) <= (frame.height + box.height) / 2 + 10) boxes.push(box);
      }
    }
    const segments = drawing.segments.filter((one) => {
      const low = Math.min(one.y0, one.y1);
      const high = Math.max(one.y0, one.y1) + (one.through ? BOX.height : 0);
      return high >= frame.y && low <= bottom && Math.max(one.x0, one.x1, one.side ?? 0) >= frame.x && Math.min(one.x0, one.x1) <= right;
    });
    const live = boxes.length <= MOST_BOXES ? boxes : [];
    const liveLines = segments.length <= MOST_SEGMENTS ? segments : [];
    this.scene.setAttribute("transform", `translate(${this.x} ${this.y}) scale(${scale})`);
    this.svg.classList.toggle("is-far", scale < 0.45);
    this.drawCanvas(live.length ? [] : boxes, liveLines.length ? [] : segments);
    this.drawBoxes(live);
    this.drawLines(liveLines, live);
    const near = live.length ? this.outlines.filter((one) => one.x < right && one.x + one.width > frame.x && one.y < bottom && one.y + one.height > frame.y) : [];
    this.drawScopes(near.slice(0, MOST_OUTLINES));
    this.map.draw(drawing, this.shown, (box) => this.paint(box)?.fill ?? this.style.soft, frame, this.style);
    this.map.canvas.hidden = drawing.width * scale <= this.width && drawing.height * scale <= this.height;
    this.element.dataset.live = String(live.length + liveLines.length);
  }

  drawBoxes(live) {
    const keys = new Set(live.map((box) => box.key));
    const { current } = this.state;
    // The current box keeps the focus while it is out of sight.
    if (current && this.place.has(current)) keys.add(current);
    for (const [key, element] of this.live) {
      if (keys.has(key)) continue;
      element.remove();
      this.live.delete(key);
    }
    for (const key of keys) {
      if (!this.live.has(key)) {
        const box = this.shown[this.place.get(key)];
        const element = drawBox(box, this.state.network, box.heat, this.paint(box), false);
        this.live.set(key, element);
        this.boxes.append(element);
      }
      const element = this.live.get(key);
      element.setAttribute("tabindex", key === current ? "0" : "-1");
      element.classList.toggle("is-current", key === current);
      element.classList.toggle("is-chosen", this.state.selected.has(key));
      element.setAttribute("aria-pressed", String(this.state.selected.has(key)));
    }
    if (!current && live.length) this.live.get(live[0].key)?.setAttribute("tabindex", "0");
  }

  drawLines(segments, boxes) {
    const name = `${segments.map((one) => one.number).join()}|${boxes.map((box) => box.key).join()}|${[...this.state.selected].join()}|${this.scale >= 0.6}`;
    if (name === this.drawnLines) return;
    this.drawnLines = name;
    const near = this.near();
    this.lines.replaceChildren(...segments.map((one) => {
      const kind = one.lines.some((line) => near.has(line)) ? " is-near" : "";
      return shape("path", { class: `graph-edge${kind}${one.back ? " is-back" : ""}`, d: pathOf(one), "marker-end": one.arrow ? "url(#graph-arrow)" : null });
    }));
    if (this.scale >= 0.6) this.lines.append(...boxes.flatMap((box) => this.label(box)));
    this.hulls.replaceChildren(...this.hullsOf(boxes));
  }

  // Outlines of open groups, outer ones first, with their names.
  drawScopes(outlines) {
    const name = outlines.map((one) => one.group).join();
    if (name === this.scopes.dataset.drawn && this.scopes.childElementCount) return;
    this.scopes.dataset.drawn = name;
    const { groups } = this.state.network.document;
    this.scopes.replaceChildren(...outlines.map((one) => {
      const title = cut(groups.name[one.group], Math.max(6, Math.floor((one.width - 34) / 6.4)));
      return shape("g", { class: "graph-scope" },
        shape("rect", { x: one.x, y: one.y, width: one.width, height: one.height, rx: 12 }),
        shape("text", { x: one.x + 24, y: one.y + 13 }, title),
        shape("g", { class: "graph-open", "data-close": one.group, transform: `translate(${one.x + 12} ${one.y + 9})` },
          shape("circle", { r: 7 }), shape("path", { d: "M-3.5 0h7" }), shape("title", {}, `Close ${groups.name[one.group]}`)));
    }));
  }

  // Lines of the selected boxes.
  near() {
    const near = new Set();
    const { selected } = this.state;
    if (!selected.size) return near;
    this.drawing.lines.forEach((line, at) => {
      if (selected.has(this.shown[line.from].key) || selected.has(this.shown[line.to].key)) near.add(at);
    });
    return near;
  }

  // The shape of what a box gives, below it.
  label(box) {
    const { network } = this.state;
    const tensor = box.kind === "node" ? network.document.nodes.outputs[box.node].find((one) => one >= 0) : box.kind === "input" ? box.tensor : -1;
    const text = tensor >= 0 && tensor !== undefined ? network.shape(tensor) : "";
    return text && box.kind === "node" ? [shape("text", { class: "graph-shape", x: box.x + 7, y: box.y + box.height / 2 + 15 }, text)] : [];
  }

  // One outline around all nodes of a group of the overlay: their boxes and the lines between them, wide.
  hullsOf(boxes) {
    const { overlay } = this.state;
    if (!overlay) return [];
    const groups = new Set(boxes.filter((box) => box.kind === "node").map((box) => overlay.byNode.get(box.node)).filter((group) => group && group.nodes.length > 1));
    return [...groups].map((group) => {
      const own = group.nodes.map((node) => this.place.get(`n${node}`)).filter((at) => at !== undefined);
      if (own.length < 2) return null;
      const inside = new Set(own);
      const isChosen = own.some((at) => this.state.selected.has(this.shown[at].key));
      const lines = this.drawing.lines.filter((line) => inside.has(line.from) && inside.has(line.to));
      return shape("g", { class: `graph-hull${isChosen ? " is-chosen" : ""}`, "data-group": group.id },
        ...lines.flatMap((line) => line.segments.map((at) => shape("path", { d: pathOf(this.drawing.segments[at]) }))),
        ...own.map((at) => this.shown[at]).map((box) => shape("rect", { x: box.x - box.width / 2 - 7, y: box.y - box.height / 2 - 7, width: box.width + 14, height: box.height + 14, rx: 14 })));
    }).filter(Boolean);
  }

  drawCanvas(boxes, segments) {
    const context = this.canvas.getContext("2d");
    const ratio = devicePixelRatio || 1;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    if (!boxes.length && !segments.length) return;
    context.setTransform(ratio * this.scale, 0, 0, ratio * this.scale, ratio * this.x, ratio * this.y);
    context.lineWidth = Math.max(1.2, 0.7 / this.scale);
    context.strokeStyle = this.style.soft;
    context.globalAlpha = 0.55;
    const path = new Path2D();
    for (const one of segments) path.addPath(new Path2D(pathOf(one)));
    context.stroke(path);
    context.globalAlpha = 1;
    context.font = "600 13px system-ui, sans-serif";
    for (const box of boxes) {
      const paint = this.paint(box);
      context.fillStyle = paint?.fill ?? (box.kind === "scope" ? this.style.sunken : this.style.panel);
      context.strokeStyle = this.state.selected.has(box.key) ? this.style.accent : this.style.soft;
      context.fillRect(box.x - box.width / 2, box.y - box.height / 2, box.width, box.height);
      context.strokeRect(box.x - box.width / 2, box.y - box.height / 2, box.width, box.height);
      if (this.scale < 0.35) continue;
      context.fillStyle = paint?.ink ?? this.style.ink;
      context.fillText(words(box, this.state.network).title.slice(0, 20), box.x - box.width / 2 + 10, box.y + 4, box.width - 20);
    }
  }

  at(x, y) {
    const point = { x: (x - this.x) / this.scale, y: (y - this.y) / this.scale };
    const rank = Math.floor((point.y - BOX.gapY / 2) / (BOX.height + BOX.gapY));
    return this.drawing.layers[rank]?.find((box) => Math.abs(box.x - point.x) <= box.width / 2 && Math.abs(box.y - point.y) <= box.height / 2) ?? null;
  }

  listen() {
    const pointers = new Map();
    let moved = 0;
    const local = (event) => {
      const area = this.element.getBoundingClientRect();
      return { x: event.clientX - area.left, y: event.clientY - area.top };
    };
    this.element.addEventListener("wheel", (event) => {
      const { x, y } = local(event);
      if (event.ctrlKey || event.metaKey) this.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0022)), x, y);
      // At its end the page scrolls on.
      else if (!this.pan(-event.deltaX - (event.shiftKey ? event.deltaY : 0), event.shiftKey ? 0 : -event.deltaY)) return;
      event.preventDefault();
    }, { passive: false });
    this.element.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      pointers.set(event.pointerId, local(event));
      if (pointers.size === 1) moved = 0;
    });
    this.element.addEventListener("pointermove", (event) => {
      const before = pointers.get(event.pointerId);
      if (!before) return;
      const now = local(event);
      if (pointers.size === 2) {
        const other = [...pointers].find(([id]) => id !== event.pointerId)[1];
        const [far, near] = [Math.hypot(now.x - other.x, now.y - other.y), Math.hypot(before.x - other.x, before.y - other.y)];
        if (near) this.zoom(far / near, (now.x + other.x) / 2, (now.y + other.y) / 2);
        moved += 10;
      } else {
        moved += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
        if (moved > 4) {
          if (!this.element.hasPointerCapture(event.pointerId)) this.element.setPointerCapture(event.pointerId);
          this.element.classList.add("is-dragged");
          this.pan(now.x - before.x, now.y - before.y);
        }
      }
      pointers.set(event.pointerId, now);
    });
    const end = (event) => {
      if (pointers.delete(event.pointerId)) this.element.classList.remove("is-dragged");
    };
    this.element.addEventListener("pointerup", end);
    this.element.addEventListener("pointercancel", end);
    this.element.addEventListener("click", (event) => {
      if (moved > 4) return;
      const { x, y } = local(event);
      const box = this.at(x, y);
      const closing = event.target.closest?.("[data-close]");
      if (closing) this.actions.close(Number(closing.dataset.close));
      else if (event.target.closest?.("[data-toggle]")) this.actions.toggle(box);
      else if (box) this.actions.press(box);
      else if (event.target === this.svg || event.target === this.element) this.actions.press(null);
    });
    this.element.addEventListener("dblclick", (event) => {
      const { x, y } = local(event);
      const box = this.at(x, y);
      if (box?.kind === "scope") this.actions.toggle(box);
      else if (!box) this.zoom(1.6, x, y);
    });
  }
}

// Outlines of the open groups that enclose no box of another group, each around what it has inside.
function outlinesOf(network, drawing) {
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
