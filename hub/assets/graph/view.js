// Draws the visible part: boxes and edges as SVG while they are few, else on a canvas beneath it. Pans
// and zooms by pointer, wheel, touch and keys.
import { drawBox } from "./box.js";
import { paintFar } from "./canvas.js";
import { make, shape } from "./dom.js";
import { BOX, layOut, pathOf } from "./layout.js";
import { Minimap } from "./minimap.js";
import { hullsOf, outlinesOf, scopeOf } from "./outlines.js";
import { heat } from "./overlay.js";
import { listen } from "./pointer.js";
import { styleOf } from "./style.js";

// Live elements: boxes, and segments of edges.
const MOST_BOXES = 150;
const MOST_SEGMENTS = 150;
const MOST_OUTLINES = 40;
const [LEAST_SCALE, MOST_SCALE] = [0.02, 3];

export class View {
  // state: {network, overlay, current: key, selected: Set of keys}; actions: {press(box), toggle(box)}.
  constructor(state, actions, label) {
    this.state = state;
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
    listen(this, actions);
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
    this.styles ??= styleOf(this.element);
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
    paintFar(this, live.length ? [] : boxes, liveLines.length ? [] : segments);
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
    this.hulls.replaceChildren(...hullsOf(this, boxes));
  }

  // Outlines of open groups, outer ones first, with their names.
  drawScopes(outlines) {
    const name = outlines.map((one) => one.group).join();
    if (name === this.scopes.dataset.drawn && this.scopes.childElementCount) return;
    this.scopes.dataset.drawn = name;
    this.scopes.replaceChildren(...outlines.map((one) => scopeOf(one, this.state.network.document.groups.name[one.group])));
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

  at(x, y) {
    const point = { x: (x - this.x) / this.scale, y: (y - this.y) / this.scale };
    const rank = Math.floor((point.y - BOX.gapY / 2) / (BOX.height + BOX.gapY));
    return this.drawing.layers[rank]?.find((box) => Math.abs(box.x - point.x) <= box.width / 2 && Math.abs(box.y - point.y) <= box.height / 2) ?? null;
  }
}
