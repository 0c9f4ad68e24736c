// The view from afar: boxes and edges on a canvas, when they are too many to be elements.
import { words } from "./box.js";
import { pathOf } from "./layout.js";

export function paintFar(view, boxes, segments) {
  const context = view.canvas.getContext("2d");
  const ratio = devicePixelRatio || 1;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, view.canvas.width, view.canvas.height);
  if (!boxes.length && !segments.length) return;
  context.setTransform(ratio * view.scale, 0, 0, ratio * view.scale, ratio * view.x, ratio * view.y);
  context.lineWidth = Math.max(1.2, 0.7 / view.scale);
  context.strokeStyle = view.style.soft;
  context.globalAlpha = 0.55;
  const path = new Path2D();
  for (const one of segments) path.addPath(new Path2D(pathOf(one)));
  context.stroke(path);
  context.globalAlpha = 1;
  context.font = "600 13px system-ui, sans-serif";
  for (const box of boxes) {
    const paint = view.paint(box);
    context.fillStyle = paint?.fill ?? (box.kind === "scope" ? view.style.sunken : view.style.panel);
    context.strokeStyle = view.state.selected.has(box.key) ? view.style.accent : view.style.soft;
    context.fillRect(box.x - box.width / 2, box.y - box.height / 2, box.width, box.height);
    context.strokeRect(box.x - box.width / 2, box.y - box.height / 2, box.width, box.height);
    if (view.scale < 0.35) continue;
    context.fillStyle = paint?.ink ?? view.style.ink;
    context.fillText(words(box, view.state.network).title.slice(0, 20), box.x - box.width / 2 + 10, box.y + 4, box.width - 20);
  }
}
