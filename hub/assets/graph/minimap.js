// The whole drawing in a corner, with the part that is shown; a click goes there.
import { make } from "./dom.js";

const WIDTH = 132;
const HEIGHT = 176;

export class Minimap {
  constructor(go) {
    this.canvas = make("canvas", { class: "graph-map", "aria-hidden": "true" });
    const move = (event) => {
      const area = this.canvas.getBoundingClientRect();
      go((event.clientX - area.left - this.left) / this.scale, (event.clientY - area.top - this.top) / this.scale);
    };
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      move(event);
      event.stopPropagation();
    });
    this.canvas.addEventListener("pointermove", (event) => event.buttons && move(event));
  }

  // color: box -> colour; frame: the visible part.
  draw(drawing, boxes, color, frame, style) {
    const scale = Math.min(WIDTH / drawing.width, HEIGHT / drawing.height, 0.12);
    this.scale = scale;
    const ratio = devicePixelRatio || 1;
    const width = Math.max(40, Math.ceil(drawing.width * scale) + 8);
    const height = Math.max(40, Math.ceil(drawing.height * scale) + 8);
    this.left = (width - drawing.width * scale) / 2;
    this.top = (height - drawing.height * scale) / 2;
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
      this.canvas.style.width = `${width}px`;
      this.canvas.style.height = `${height}px`;
      this.isStale = true;
    }
    const context = this.canvas.getContext("2d");
    if (this.isStale || this.drawn !== drawing) {
      this.drawn = drawing;
      this.isStale = false;
      this.picture = new OffscreenCanvas(this.canvas.width, this.canvas.height);
      const picture = this.picture.getContext("2d");
      picture.scale(ratio, ratio);
      for (const box of boxes) {
        picture.fillStyle = color(box);
        picture.fillRect(
          this.left + (box.x - box.width / 2) * scale, this.top + (box.y - box.height / 2) * scale,
          Math.max(box.width * scale, 1.5), Math.max(box.height * scale, 1.5),
        );
      }
    }
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.drawImage(this.picture, 0, 0);
    context.scale(ratio, ratio);
    context.strokeStyle = style.accent;
    context.lineWidth = 1.5;
    context.strokeRect(this.left + frame.x * scale, this.top + frame.y * scale, frame.width * scale, frame.height * scale);
  }
}
