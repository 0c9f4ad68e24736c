// The graph of an element with data-graph: loads the topology and the overlay, and keeps selection,
// keys, tools and the address in step.
import { download } from "../download.js";
import { details } from "./details.js";
import { button, make, spelled } from "./dom.js";
import { networkOf } from "./compact.js";
import { drawBox } from "./box.js";
import { pngOf, svgText } from "./export.js";
import { MOST_OPEN, Network } from "./network.js";
import { heat, Overlay, SCALES } from "./overlay.js";
import { walkRows } from "./rows.js";
import { Search } from "./search.js";
import { View } from "./view.js";

const KEYS =
  "Arrow down and up follow the edges, left and right go along a layer. Enter selects, space opens or closes a group, C closes the group around a node, N and P go to the next and previous hottest, slash searches, plus and minus zoom, shift and arrows pan, 0 fits, escape clears.";
let counter = 0;

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export class Graph {
  constructor(element) {
    this.element = element;
    this.name = element.id || `graph-${++counter}`;
    this.state = { network: null, overlay: null, current: null, selected: new Set() };
    this.load().catch((error) => this.fail(error));
  }

  async load() {
    const compact = await this.fetch(this.element.dataset.compact);
    const { network } = Object.assign(this.state, { network: new Network(networkOf(compact)) });
    const overlay = document.getElementById(this.element.dataset.overlay || "");
    if (overlay) this.state.overlay = new Overlay(JSON.parse(overlay.textContent), network);
    this.build();
    this.view.rebuild();
    this.view.resize();
    this.follow(false);
    this.tell();
    addEventListener("hashchange", () => this.element.isConnected && this.follow(true));
    this.element.dataset.ready = "true";
    this.element.dispatchEvent(new CustomEvent("graph:ready", { bubbles: true }));
  }

  async fetch(address) {
    const answer = await fetch(address, { credentials: "same-origin" });
    if (!answer.ok) throw new Error((await answer.json().catch(() => ({}))).detail ?? `status ${answer.status}`);
    return answer.json();
  }

  fail(error) {
    this.element.querySelector("[data-waiting]")?.replaceChildren(`The graph could not be loaded: ${error.message}. The table below has its nodes.`);
  }

  build() {
    const { network } = this.state;
    this.view = new View(this.state, { press: (box) => (box ? this.choose(box, true) : this.clear()), toggle: (box) => this.toggle(box), close: (group) => this.closeGroup(group) }, `Network ${network.document.path}`);
    this.search = new Search(network, this.name, { go: (node) => this.select({ node, focus: true }), leave: () => this.focus() });
    this.status = make("p", { class: "graph-status", role: "status" });
    this.legend = make("div", { class: "graph-legend" });
    this.hint = make("p", { class: "visually-hidden", id: `${this.name}-keys` }, KEYS);
    this.view.svg.setAttribute("aria-describedby", this.hint.id);
    const bar = make("div", { class: "graph-bar", role: "group", "aria-label": "Tools of the graph" }, this.search.element,
      make("span", { class: "graph-tools" },
        button("−", "Zoom out", () => this.view.zoom(1 / 1.3)), button("+", "Zoom in", () => this.view.zoom(1.3)), button("Fit", "Show the whole graph", () => this.view.fit()),
        button("Open all", "Open all groups", () => this.openAll()), button("Close all", "Close all groups", () => this.closeAll())),
      this.scales(), this.files(), this.keysMenu());
    this.side = this.element.hasAttribute("data-details") ? make("aside", { class: "graph-details", "aria-label": "Details", tabindex: "0" }) : null;
    this.frame = make("div", { class: `graph-frame${this.side ? " has-details" : ""}` }, bar, make("div", { class: "graph-body" }, this.view.element, this.side), make("div", { class: "graph-foot" }, this.legend, this.status), this.hint);
    this.element.querySelector("[data-waiting]")?.remove();
    this.element.prepend(this.frame);
    this.view.svg.addEventListener("keydown", (event) => this.press(event));
    this.view.svg.addEventListener("focusin", (event) => {
      const key = event.target.dataset?.key;
      if (key && key !== this.state.current) {
        this.state.current = key;
        this.view.render();
      }
    });
    const theme = () => {
      this.view.restyle();
      this.drawLegend();
    };
    new MutationObserver(theme).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", theme);
    addEventListener("beforeprint", () => this.view.fit());
    this.describe(null);
    for (const table of document.querySelectorAll(`[data-graph-rows="${CSS.escape(this.name)}"]`)) walkRows(table, (node) => this.select({ node }));
  }

  scales() {
    const { overlay } = this.state;
    if (!overlay || overlay.isDiverging) return null;
    const choice = make("select", { "aria-label": "Scale of the colours", class: "graph-scale" }, ...SCALES.map((scale) => make("option", { value: scale }, { sqrt: "square root", linear: "linear", log: "logarithmic" }[scale])));
    choice.addEventListener("change", () => {
      overlay.scale = choice.value;
      this.view.repaint();
      this.drawLegend();
    });
    return choice;
  }

  files() {
    const menu = make("details", { class: "graph-menu" }, make("summary", { class: "graph-button" }, "Export"));
    const title = `${this.state.network.document.path}${this.state.overlay ? `: ${this.state.overlay.metric}` : ""}`;
    const svg = () => svgText(this.view, (box) => drawBox(box, this.state.network, box.heat, this.view.paint(box), false), this.view.style, title);
    const file = (kind) => `${(this.element.dataset.file || "network").replace(/[^\w.-]+/g, "-")}.${kind}`;
    const add = (text, action) => menu.append(button(text, `Download as ${text}`, () => {
      menu.open = false;
      action();
    }));
    add("SVG", () => download(new Blob([svg()], { type: "image/svg+xml" }), file("svg")));
    add("PNG", async () => download(await pngOf(svg(), this.view.drawing.width, this.view.drawing.height), file("png")));
    add("JSON", async () => {
      const { overlay } = this.state;
      const groups = overlay?.groups.map(({ id, label, nodes, value, text, grade, marks }) => ({ id, label, nodes, value, text, grade, marks }));
      const whole = { page: location.href, topology: await this.fetch(this.element.dataset.topology), overlay: overlay ? { metric: overlay.metric, unit: overlay.unit, groups, folded: [...overlay.folded] } : null };
      download(new Blob([JSON.stringify(whole)], { type: "application/json" }), file("json"));
    });
    return menu;
  }

  keysMenu() {
    return make("details", { class: "graph-menu" }, make("summary", { class: "graph-button" }, "Keys"), make("p", {}, KEYS));
  }

  drawLegend() {
    const { overlay } = this.state;
    if (!overlay) return;
    const entries = [make("strong", {}, overlay.metric)];
    for (let bin = 0; bin < overlay.bins(); bin++) {
      const key = make("span", { class: "graph-swatch" });
      key.style.background = heat(bin, overlay.isDiverging, this.view.style.isDark).fill;
      entries.push(make("span", { class: "graph-key" }, key, `${bin ? "≥ " : ""}${overlay.written(overlay.lower(bin, this.view.most))}`));
    }
    for (const [kind, text] of [["none", "no data"], ["folded", "computed at build time"], ["inferred", "link inferred"]]) entries.push(make("span", { class: "graph-key" }, make("span", { class: `graph-swatch s-${kind}` }), text));
    this.legend.replaceChildren(...entries);
  }

  tell() {
    const { network } = this.state;
    const { totals, omitted } = network.document;
    const nodes = this.view.shown.filter((box) => box.kind === "node").length;
    const scopes = this.view.shown.filter((box) => box.kind === "scope").length;
    const all = network.drawn.length;
    const texts = [nodes === all ? `Showing all ${spelled(all)} nodes.` : `Showing ${spelled(nodes)} of ${spelled(all)} nodes, the others in ${spelled(scopes)} closed groups.`];
    if (omitted.includes("nodes")) texts.push(`The file has ${spelled(totals.nodes)} nodes: only the first are drawn.`);
    if (omitted.includes("attributes")) texts.push("Some attributes are left out.");
    if (omitted.includes("statistics")) texts.push("Some weights have no statistics.");
    if (omitted.includes("initializers")) texts.push("Some initialisers are left out.");
    if (this.isCapped) texts.push(`At most ${spelled(MOST_OPEN)} boxes are opened at once.`);
    this.status.textContent = texts.join(" ");
    this.drawLegend();
  }

  box(key) {
    return this.view.shown[this.view.place.get(key)];
  }

  focus() {
    if (!this.state.current || !this.view.place.has(this.state.current)) this.state.current = this.view.shown[0]?.key ?? null;
    const key = this.state.current;
    requestAnimationFrame(() => requestAnimationFrame(() => this.view.live.get(key)?.focus({ preventScroll: true })));
  }

  go(key) {
    this.state.current = key;
    this.view.reveal(key);
    this.view.render();
    this.focus();
  }

  toggle(box) {
    if (!box) return;
    const { network } = this.state;
    if (box.kind === "scope") {
      const more = network.members[box.group].length + network.inner[box.group].length;
      if (this.view.shown.length + more > MOST_OPEN) this.isCapped = true;
      else {
        network.open.add(box.group);
        const first = network.members[box.group][0];
        this.change(first === undefined ? `g${network.inner[box.group][0]}` : `n${first}`, box.key);
        return;
      }
      this.tell();
    } else if (box.kind === "node") this.closeAround(box);
  }

  closeAround(box) {
    const { network } = this.state;
    const { parent } = network.document.groups;
    const group = box.kind === "scope" ? parent[box.group] : network.document.nodes.group[box.node];
    if (group > 0) this.closeGroup(group, box.key);
  }

  closeGroup(group, key = `n${this.state.network.all(group)[0]}`) {
    this.state.network.close(group);
    this.change(`g${group}`, key);
  }

  // After groups were opened or closed: the focus goes to `key`, which stays where `before` was.
  change(key, before) {
    const old = this.box(before);
    const place = old ? this.view.screen(old) : null;
    const held = this.view.svg.contains(document.activeElement);
    this.view.rebuild();
    const box = this.box(key);
    if (place && box) {
      this.view.x += place.x - this.view.screen(box).x;
      this.view.y += place.y - this.view.screen(box).y;
      this.view.clamp();
    }
    this.state.current = key;
    this.tell();
    if (held) this.focus();
  }

  openAll() {
    this.isCapped = !this.state.network.openAll();
    this.view.rebuild(this.state.current);
    this.view.home();
    this.tell();
  }

  closeAll() {
    this.state.network.open = new Set([0]);
    this.isCapped = false;
    this.view.rebuild();
    this.view.home();
    this.tell();
  }

  // From outside: select({node: 12}) or select({group: "17"}).
  select({ node, group, focus = false }) {
    const { network, overlay } = this.state;
    if (group !== undefined && group !== null) {
      const found = overlay?.byId.get(String(group));
      if (!found) return false;
      const nodes = found.nodes.filter((one) => network.document.nodes.x[one] !== null);
      this.show(nodes);
      this.mark(nodes, { node: null, group: found.id }, focus);
      return true;
    }
    if (!Number.isInteger(node) || node < 0 || node >= network.count || network.document.nodes.x[node] === null) return false;
    this.show([node]);
    this.mark([node], { node, group: overlay?.byNode.get(node)?.id ?? null }, focus);
    return true;
  }

  show(nodes) {
    const { network } = this.state;
    const hidden = nodes.filter((node) => network.hider(node) >= 0);
    hidden.forEach((node) => network.show(node));
    if (hidden.length) this.view.rebuild();
    if (hidden.length) this.tell();
  }

  mark(nodes, detail, focus) {
    const keys = nodes.map((node) => `n${node}`);
    this.state.selected = new Set(keys);
    this.state.current = keys[0] ?? this.state.current;
    if (keys.length) this.view.reveal(keys[0]);
    this.view.render();
    this.publish(detail);
    this.describe(nodes.length ? this.box(keys[0]) : null);
    if (focus) this.focus();
  }

  publish(detail) {
    const hash = detail.node !== null ? `#node=${detail.node}` : detail.group !== null ? `#group=${encodeURIComponent(detail.group)}` : "";
    this.hash = hash;
    if (location.hash !== hash) history.replaceState(history.state, "", hash || location.pathname + location.search);
    this.element.dispatchEvent(new CustomEvent("graph:select", { bubbles: true, detail }));
  }

  choose(box, focus) {
    this.state.current = box.key;
    if (box.kind === "node") this.select({ node: box.node, focus });
    else {
      this.state.selected = new Set([box.key]);
      this.view.render();
      this.describe(box);
      if (focus) this.focus();
    }
  }

  clear() {
    if (!this.state.selected.size) return;
    this.state.selected = new Set();
    this.view.render();
    this.describe(null);
    this.publish({ node: null, group: null });
  }

  describe(box) {
    if (!this.side) return;
    this.described = box?.kind === "node" ? box.node : -1;
    if (box?.kind === "node" && !this.state.network.details.has(box.node)) this.learn(box);
    this.side.replaceChildren(...details(this.state.network, box, (node) => this.select({ node, focus: false })).filter(Boolean));
    this.side.scrollTop = 0;
  }

  // Attributes and statistics of weights of a node, which the compact topology lacks.
  async learn(box) {
    const { details } = this.state.network;
    const learned = await this.fetch(`${this.element.dataset.compact}&node=${box.node}`).catch(() => null);
    if (!learned) return;
    details.set(box.node, learned);
    if (this.described === box.node) this.describe(box);
  }

  // The node or group that the address names.
  follow(isChange) {
    const [, kind, value] = /^#(node|group)=(.+)$/.exec(location.hash) ?? [];
    if (!kind || (isChange && location.hash === this.hash)) return;
    if (kind === "node") this.select({ node: Number(value) });
    else this.select({ group: decoded(value) });
  }

  press(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const box = this.box(this.state.current) ?? this.view.shown[0];
    const arrows = { ArrowDown: [0, -1], ArrowUp: [0, 1], ArrowLeft: [1, 0], ArrowRight: [-1, 0] };
    const arrow = arrows[event.key];
    if (arrow && event.shiftKey) this.view.pan(arrow[0] * 80, arrow[1] * 80);
    else if (arrow) this.step(box, event.key);
    else if (event.key === "Enter") this.choose(box, true);
    else if (event.key === " ") this.toggle(box);
    else if (event.key === "c") this.closeAround(box);
    else if (event.key === "n" || event.key === "p") this.hottest(event.key === "n" ? 1 : -1);
    else if (event.key === "/") {
      this.search.input.focus();
      this.search.input.select();
    } else if (event.key === "+" || event.key === "=") this.view.zoom(1.3);
    else if (event.key === "-") this.view.zoom(1 / 1.3);
    else if (event.key === "0") this.view.fit();
    else if (event.key === "Home") this.go(this.view.drawing.layers[0][0].key);
    else if (event.key === "End") this.go(this.view.drawing.layers.at(-1)[0].key);
    else if (event.key === "Escape" && this.state.selected.size) this.clear();
    else return;
    event.preventDefault();
  }

  step(box, key) {
    const { drawing, shown, place } = this.view;
    if (!box) return;
    const at = place.get(box.key);
    let next = null;
    if (key === "ArrowLeft" || key === "ArrowRight") {
      const layer = [...drawing.layers[box.rank]].sort((a, b) => a.x - b.x);
      next = layer[layer.indexOf(box) + (key === "ArrowRight" ? 1 : -1)];
    } else {
      const isDown = key === "ArrowDown";
      const ends = drawing.lines.filter((line) => (isDown ? line.from : line.to) === at).map((line) => shown[isDown ? line.to : line.from]);
      // The nearest first: the main path rather than a skip.
      next = ends.sort((a, b) => Math.abs(a.rank - box.rank) - Math.abs(b.rank - box.rank) || Math.abs(a.x - box.x) - Math.abs(b.x - box.x))[0];
    }
    if (next) this.go(next.key);
  }

  hottest(step) {
    const { overlay } = this.state;
    if (!overlay?.ranked.length) return;
    const count = overlay.ranked.length;
    this.hot = this.hot === undefined ? (step > 0 ? 0 : count - 1) : (this.hot + step + count) % count;
    this.select({ group: overlay.ranked[this.hot].id, focus: true });
  }
}
