// Finds nodes by name, operator or tensor: a combobox with a list of hits.
import { cut, make, spelled } from "./dom.js";

const MOST_HITS = 50;

export class Search {
  constructor(network, name, { go, leave }) {
    this.network = network;
    this.go = go;
    this.hits = [];
    this.at = -1;
    this.list = make("ul", { class: "graph-hits", id: `${name}-hits`, role: "listbox", "aria-label": "Hits", hidden: true });
    this.count = make("span", { class: "visually-hidden", role: "status" });
    this.input = make("input", {
      type: "search", class: "graph-find", placeholder: "Find a node  /", autocomplete: "off", spellcheck: "false", role: "combobox",
      "aria-label": "Find nodes by name, operator or tensor", "aria-controls": this.list.id, "aria-expanded": "false", "aria-autocomplete": "list",
      oninput: () => this.find(), onfocus: () => this.input.value && this.find(),
    });
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") this.move(event.key === "ArrowDown" ? 1 : -1);
      else if (event.key === "Enter") this.choose(Math.max(this.at, 0));
      else if (event.key === "Escape") {
        this.close();
        leave();
      } else return;
      event.preventDefault();
      event.stopPropagation();
    });
    this.element = make("div", { class: "graph-search" }, this.input, this.list, this.count);
    this.element.addEventListener("focusout", (event) => !this.element.contains(event.relatedTarget) && this.close());
  }

  find() {
    const query = this.input.value.trim().toLowerCase();
    this.hits = query ? this.matches(query) : [];
    this.at = -1;
    const shown = this.hits.slice(0, MOST_HITS);
    this.list.replaceChildren(...shown.map((hit, at) =>
      make("li", { role: "option", id: `${this.list.id}-${at}`, "aria-selected": "false", onpointerdown: (event) => {
        event.preventDefault();
        this.choose(at);
      } }, make("strong", {}, hit.title), " ", make("span", {}, cut(hit.why, 70)))));
    const text = this.hits.length > MOST_HITS ? `${MOST_HITS} of ${spelled(this.hits.length)} hits` : this.hits.length === 1 ? "1 hit" : `${this.hits.length} hits`;
    if (query) this.list.append(make("li", { class: "graph-hits-count", role: "presentation" }, text));
    this.count.textContent = query ? text : "";
    this.list.hidden = !query;
    this.input.setAttribute("aria-expanded", String(Boolean(query)));
    this.input.removeAttribute("aria-activedescendant");
  }

  // Names that begin with the query come first, then operators, then tensors.
  matches(query) {
    const { nodes, tensors } = this.network.document;
    const found = [[], [], []];
    for (const node of this.network.drawn) {
      const operator = this.network.operator(node);
      const name = nodes.name[node];
      const title = operator.replace(/^.*::/, "");
      if (name.toLowerCase().includes(query)) found[0].push({ node, title, why: name });
      else if (operator.toLowerCase().includes(query)) found[1].push({ node, title, why: name || `node ${node}` });
      else {
        const tensor = [...nodes.outputs[node], ...nodes.inputs[node]].find((one) => one >= 0 && tensors.name[one].toLowerCase().includes(query));
        if (tensor !== undefined) found[2].push({ node, title, why: `tensor ${tensors.name[tensor]}` });
      }
    }
    return found.flat();
  }

  move(step) {
    const count = Math.min(this.hits.length, MOST_HITS);
    if (!count) return;
    this.list.children[this.at]?.setAttribute("aria-selected", "false");
    this.at = (this.at + step + count) % count;
    const item = this.list.children[this.at];
    item.setAttribute("aria-selected", "true");
    item.scrollIntoView({ block: "nearest" });
    this.input.setAttribute("aria-activedescendant", item.id);
  }

  choose(at) {
    const hit = this.hits[at];
    if (!hit) return;
    this.close();
    this.go(hit.node);
  }

  close() {
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
  }
}
