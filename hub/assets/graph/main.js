// Draws the graphs of a page, also of parts that htmx puts in.
import { Graph } from "./graph.js";

function update() {
  for (const element of document.querySelectorAll("[data-graph]")) {
    if (element.dataset.compact) element.graph ??= new Graph(element);
  }
}

// The script is deferred: the page is read.
update();
document.body.addEventListener("htmx:afterSettle", update);
