// Linked views of the trials of a search: parallel coordinates, a map, and a table of what is chosen.
"use strict";
(() => {
  const PAD = { left: 14, right: 14, top: 30, bottom: 34 };
  const SHOWN_AXES = 8, NARROW_AXES = 5, NARROW = 600, ROWS = 20, BINS = 64, FASTEST_LINES = 500;

  const time = (seconds) => {
    for (const [size, unit] of [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]]) {
      if (seconds >= size) return `${Number((seconds / size).toPrecision(3))} ${unit}`;
    }
    return `${Number((seconds / 1e-9).toPrecision(3))} ns`;
  };
  const clip = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
  const make = (tag, text, parent) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (parent) parent.append(element);
    return element;
  };

  class Space {
    constructor(root, data) {
      this.root = root;
      this.data = data;
      this.count = data.times.length;
      this.times = Float64Array.from(data.times);
      this.order = Uint32Array.from(this.times.keys()).sort((a, b) => this.times[a] - this.times[b]);
      this.isFast = new Uint8Array(this.count);
      this.order.subarray(0, Math.max(1, Math.ceil(this.count / 10))).forEach((at) => { this.isFast[at] = 1; });
      this.axes = [this.timeAxis(), ...data.axes.map((axis, at) => ({
        title: axis.title, labels: axis.labels, values: Float32Array.from(axis.codes),
        low: 0, high: axis.labels.length - 1, isShown: at < (innerWidth < NARROW ? NARROW_AXES : SHOWN_AXES) - 1,
      }))];
      this.ranges = new Map();
      this.region = null;
      this.isChosen = new Uint8Array(this.count).fill(1);
      this.chosen = this.count;
      this.lines = root.querySelector("[data-lines]");
      this.map = root.querySelector("[data-map]");
      this.listen();
      this.fields();
      this.update();
    }

    timeAxis() {
      const logs = Float32Array.from(this.times, Math.log10);
      let low = Infinity, high = -Infinity;
      for (const value of logs) { low = Math.min(low, value); high = Math.max(high, value); }
      return { title: "time", labels: null, values: logs, low, high: high > low ? high : low + 1, isShown: true };
    }

    shown() { return this.axes.filter((axis) => axis.isShown); }

    // What is chosen: each range, and the region of the map. All trials, not only those that are drawn.
    filter() {
      const { count, isChosen } = this;
      const ranges = [...this.ranges].map(([at, [low, high]]) => [this.axes[at].values, low, high]);
      const region = this.region, points = this.data.points;
      let chosen = 0;
      for (let at = 0; at < count; at += 1) {
        let is = 1;
        for (const [values, low, high] of ranges) {
          const value = values[at];
          if (value < low || value > high) { is = 0; break; }
        }
        if (is && region) {
          const [x, y] = points[at];
          if (x < region[0] || x > region[2] || y < region[1] || y > region[3]) is = 0;
        }
        isChosen[at] = is;
        chosen += is;
      }
      this.chosen = chosen;
    }

    update() {
      const start = performance.now();
      this.filter();
      this.draw();
      this.report();
      this.root.dataset.brushMs = (performance.now() - start).toFixed(1);
      this.root.dataset.chosen = this.chosen;
    }

    draw() {
      const style = getComputedStyle(this.root);
      const probe = make("span", undefined, this.root);
      const color = (name) => { probe.style.color = `var(${name})`; return getComputedStyle(probe).color; };
      this.colors = { fast: color("--series-1"), rest: color("--soft"), faint: color("--line"), ink: color("--ink"), ground: color("--panel") };
      this.font = `12px ${style.fontFamily}`;
      probe.remove();
      this.drawLines();
      if (this.data.points) this.drawMap();
    }

    canvas(element) {
      const scale = window.devicePixelRatio || 1;
      const width = element.clientWidth, height = element.clientHeight;
      if (element.width !== Math.round(width * scale)) element.width = Math.round(width * scale);
      if (element.height !== Math.round(height * scale)) element.height = Math.round(height * scale);
      const context = element.getContext("2d");
      context.setTransform(scale, 0, 0, scale, 0, 0);
      context.clearRect(0, 0, width, height);
      context.font = this.font;
      return { context, width, height };
    }

    // Positions of the drawn trials: of the chosen ones, the fastest and a regular sample of the rest.
    sample() {
      const chosen = this.order.filter((at) => this.isChosen[at]);
      const most = this.data.lines;
      if (chosen.length <= most) return chosen;
      const rest = chosen.subarray(FASTEST_LINES), step = rest.length / (most - FASTEST_LINES);
      const picked = Array.from({ length: most - FASTEST_LINES }, (_, n) => rest[Math.floor(n * step)]);
      return Uint32Array.from([...chosen.subarray(0, FASTEST_LINES), ...picked]);
    }

    drawLines() {
      const { context, width, height } = this.canvas(this.lines);
      const axes = this.shown();
      const x = (at) => PAD.left + (width - PAD.left - PAD.right) * (axes.length > 1 ? (at + 0.5) / axes.length : 0.5);
      const y = (axis, value) => height - PAD.bottom
        - (height - PAD.top - PAD.bottom) * (axis.high > axis.low ? (value - axis.low) / (axis.high - axis.low) : 0.5);
      const drawn = this.sample();
      this.drawn = drawn.length;
      // The slow first, so that the fast are on top.
      for (let number = drawn.length - 1; number >= 0; number -= 1) {
        const at = drawn[number];
        context.strokeStyle = this.isFast[at] ? this.colors.fast : this.colors.rest;
        context.globalAlpha = this.isFast[at] ? 0.7 : Math.max(0.05, Math.min(0.35, 60 / drawn.length));
        context.lineWidth = this.isFast[at] ? 1.3 : 1;
        context.beginPath();
        let isOpen = false;
        axes.forEach((axis, column) => {
          const value = axis.values[at];
          if (axis.labels && value < 0) { isOpen = false; return; }
          // A little apart, so that equal values do not cover each other.
          const shift = axis.labels ? ((at * 7) % 13 - 6) * 0.5 : 0;
          if (isOpen) context.lineTo(x(column), y(axis, value) + shift);
          else context.moveTo(x(column), y(axis, value) + shift);
          isOpen = true;
        });
        context.stroke();
      }
      context.globalAlpha = 1;
      this.drawAxes(context, { axes, x, y, width, height });
    }

    drawAxes(context, { axes, x, y, width, height }) {
      const room = Math.max(6, Math.floor((width / axes.length) / 6.6));
      this.places = [];
      axes.forEach((axis, column) => {
        const at = x(column), index = this.axes.indexOf(axis);
        this.places.push({ index, x: at, half: width / axes.length / 2, y: (value) => y(axis, value) });
        context.strokeStyle = this.colors.ink;
        context.fillStyle = this.colors.ink;
        context.beginPath();
        context.moveTo(at, PAD.top);
        context.lineTo(at, height - PAD.bottom);
        context.stroke();
        context.textAlign = "center";
        this.write(context, clip(axis.title, room), at, column % 2 ? height - 6 : height - 19);
        const range = this.ranges.get(index);
        if (range) {
          const [top, bottom] = [y(axis, range[1]), y(axis, range[0])];
          context.globalAlpha = 0.25;
          context.fillRect(at - 8, top - 5, 16, bottom - top + 10);
          context.globalAlpha = 1;
          context.strokeRect(at - 8, top - 5, 16, bottom - top + 10);
        }
        context.textAlign = "left";
        if (!axis.labels) {
          this.write(context, time(10 ** axis.high), at + 4, PAD.top - 4);
          this.write(context, time(10 ** axis.low), at + 4, height - PAD.bottom);
          return;
        }
        const step = Math.ceil(axis.labels.length / 12);
        axis.labels.forEach((label, value) => {
          if (value % step === 0) this.write(context, clip(label, 12), at + 4, y(axis, value) + 4);
        });
      });
    }

    // On a ground of its own, because lines cross it.
    write(context, text, x, y) {
      context.strokeStyle = this.colors.ground;
      context.lineWidth = 3;
      context.lineJoin = "round";
      context.strokeText(text, x, y);
      context.fillText(text, x, y);
      context.strokeStyle = this.colors.ink;
      context.lineWidth = 1;
    }

    drawMap() {
      const { context, width, height } = this.canvas(this.map);
      const points = this.data.points;
      if (!this.extent) {
        const extent = [Infinity, Infinity, -Infinity, -Infinity];
        for (const [x, y] of points) {
          extent[0] = Math.min(extent[0], x); extent[1] = Math.min(extent[1], y);
          extent[2] = Math.max(extent[2], x); extent[3] = Math.max(extent[3], y);
        }
        this.extent = extent;
      }
      const [left, bottom, right, top] = this.extent;
      const x = (value) => 8 + (width - 16) * ((value - left) / (right - left || 1));
      const y = (value) => height - 8 - (height - 16) * ((value - bottom) / (top - bottom || 1));
      this.mapScale = { x, y, value: (px, py) => [
        left + ((px - 8) / (width - 16)) * (right - left), bottom + ((height - 8 - py) / (height - 16)) * (top - bottom)] };
      if (this.count > this.data.marks) this.drawDensity(context, { x, y, width, height });
      else this.drawPoints(context, x, y);
      if (this.region) {
        const [x1, y1, x2, y2] = this.region;
        context.strokeStyle = this.colors.ink;
        context.strokeRect(x(x1), y(y2), x(x2) - x(x1), y(y1) - y(y2));
      }
    }

    drawPoints(context, x, y) {
      const points = this.data.points;
      const size = this.count > 5000 ? 2 : 4;
      const pass = (test, color, alpha, side) => {
        context.fillStyle = color;
        context.globalAlpha = alpha;
        for (let at = 0; at < this.count; at += 1) {
          if (test(at)) context.fillRect(x(points[at][0]) - side / 2, y(points[at][1]) - side / 2, side, side);
        }
        context.globalAlpha = 1;
      };
      pass((at) => !this.isChosen[at], this.colors.faint, 1, size);
      pass((at) => this.isChosen[at] && !this.isFast[at], this.colors.rest, 0.6, size);
      pass((at) => this.isChosen[at] && this.isFast[at], this.colors.fast, 1, size + 2);
    }

    drawDensity(context, { x, y, width, height }) {
      const bins = new Uint32Array(BINS * BINS);
      for (let at = 0; at < this.count; at += 1) {
        if (!this.isChosen[at]) continue;
        const column = Math.min(BINS - 1, Math.floor((x(this.data.points[at][0]) / width) * BINS));
        const row = Math.min(BINS - 1, Math.floor((y(this.data.points[at][1]) / height) * BINS));
        bins[row * BINS + column] += 1;
      }
      const most = Math.log1p(bins.reduce((one, other) => Math.max(one, other), 1));
      context.fillStyle = this.colors.fast;
      bins.forEach((count, bin) => {
        if (!count) return;
        context.globalAlpha = 0.15 + 0.85 * (Math.log1p(count) / most);
        context.fillRect(((bin % BINS) * width) / BINS, (Math.floor(bin / BINS) * height) / BINS, width / BINS, height / BINS);
      });
      context.globalAlpha = 1;
    }

    report() {
      const all = this.count.toLocaleString("en"), chosen = this.chosen.toLocaleString("en");
      const density = this.count > this.data.marks ? "; the map shows density" : "";
      this.root.querySelector("[data-space-count]").textContent = `showing ${this.drawn.toLocaleString("en")} of ${chosen} lines${density}`;
      const rows = [];
      let fast = 0;
      for (const at of this.order) {
        if (!this.isChosen[at]) continue;
        if (rows.length < ROWS) rows.push(at);
        fast += this.isFast[at];
      }
      const share = this.chosen ? Math.round((100 * fast) / this.chosen) : 0;
      this.root.querySelector("[data-space-status]").textContent = this.chosen
        ? `${chosen} of ${all} trials chosen; ${share} % of them are among the fastest 10 %; the fastest takes ${time(this.times[rows[0]])}.`
        : `None of ${all} trials is in all ranges.`;
      this.root.querySelector("[data-space-caption]").textContent = `The fastest ${rows.length} of ${chosen} chosen trials`;
      const axes = this.shown();
      const head = this.root.querySelector("[data-space-head]");
      head.replaceChildren();
      for (const title of ["trial", ...axes.map((axis) => axis.title)]) make("th", title, head).scope = "col";
      const body = this.root.querySelector("[data-space-rows]");
      body.replaceChildren(...rows.map((at) => {
        const row = make("tr");
        make("td", this.data.positions[at], row);
        for (const axis of axes) make("td", axis.labels ? (axis.labels[axis.values[at]] ?? "") : time(this.times[at]), row);
        return row;
      }));
    }

    // The same choice by keyboard: of each axis a first and a last value, and whether it is shown.
    fields() {
      const box = this.root.querySelector("[data-ranges]");
      this.axes.forEach((axis, index) => {
        const field = make("fieldset", undefined, box);
        make("legend", axis.title, field);
        const values = axis.labels ?? this.decades(axis);
        for (const [word, end] of [["from", 0], ["to", 1]]) {
          const label = make("label", word, field);
          const select = make("select", undefined, label);
          select.dataset.end = `${index}.${end}`;
          make("option", "any", select).value = "";
          values.forEach((value, at) => { make("option", axis.labels ? value : time(10 ** value), select).value = at; });
          select.addEventListener("change", () => this.choose(index, field, values));
        }
        const label = make("label", undefined, field);
        const check = make("input", undefined, label);
        check.type = "checkbox";
        check.checked = axis.isShown;
        label.append("shown");
        check.addEventListener("change", () => { axis.isShown = check.checked; this.update(); });
      });
    }

    decades(axis) {
      return Array.from({ length: 9 }, (_, at) => axis.low + ((axis.high - axis.low) * at) / 8);
    }

    choose(index, field, values) {
      const axis = this.axes[index];
      const [from, to] = [...field.querySelectorAll("select")].map((select) => select.value);
      const at = (value, other) => (value === "" ? other : axis.labels ? Number(value) : values[Number(value)]);
      if (from === "" && to === "") this.ranges.delete(index);
      else this.ranges.set(index, [at(from, axis.labels ? 0 : axis.low) - 1e-6, at(to, axis.high) + 1e-6]);
      this.update();
    }

    clear() {
      this.ranges.clear();
      this.region = null;
      for (const select of this.root.querySelectorAll("[data-ranges] select")) select.value = "";
      this.update();
    }

    listen() {
      this.drag(this.lines, (start, end) => {
        const place = this.places.find((one) => Math.abs(one.x - start[0]) <= one.half);
        if (!place) return;
        const axis = this.axes[place.index];
        const value = (py) => axis.low + (axis.high - axis.low)
          * ((this.lines.clientHeight - PAD.bottom - py) / (this.lines.clientHeight - PAD.top - PAD.bottom));
        const ends = [value(start[1]), value(end[1])].sort((a, b) => a - b);
        const slack = axis.labels ? 0.3 : 0;
        if (Math.abs(start[1] - end[1]) < 4) this.ranges.delete(place.index);
        else this.ranges.set(place.index, [ends[0] - slack, ends[1] + slack]);
        this.update();
      });
      this.drag(this.map, (start, end) => {
        if (!this.mapScale) return;
        const [one, other] = [this.mapScale.value(...start), this.mapScale.value(...end)];
        const isClick = Math.hypot(start[0] - end[0], start[1] - end[1]) < 4;
        this.region = isClick ? null : [
          Math.min(one[0], other[0]), Math.min(one[1], other[1]), Math.max(one[0], other[0]), Math.max(one[1], other[1])];
        this.update();
      });
      this.root.querySelector("[data-clear]").addEventListener("click", () => this.clear());
      this.root.addEventListener("keydown", (event) => { if (event.key === "Escape") this.clear(); });
      new ResizeObserver(() => this.draw()).observe(this.lines);
      new MutationObserver(() => this.draw()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    }

    drag(canvas, act) {
      let start = null;
      const place = (event) => [event.offsetX, event.offsetY];
      canvas.addEventListener("pointerdown", (event) => { start = place(event); canvas.setPointerCapture(event.pointerId); });
      canvas.addEventListener("pointermove", (event) => { if (start) act(start, place(event)); });
      canvas.addEventListener("pointerup", (event) => { if (start) act(start, place(event)); start = null; });
      canvas.addEventListener("pointercancel", () => { start = null; });
    }
  }

  for (const root of document.querySelectorAll("[data-space]")) {
    root.querySelector("[data-space-wait]").textContent = "Loading the trials…";
    fetch(root.dataset.space, { headers: { accept: "application/json" } })
      .then((answer) => { if (!answer.ok) throw new Error(`status ${answer.status}`); return answer.json(); })
      .then((data) => {
        root.querySelector("[data-space-wait]").remove();
        root.querySelector("[data-space-body]").hidden = false;
        if (!data.points) root.querySelector("[data-map]").closest("figure").hidden = true;
        root.space = new Space(root, data);
        root.dataset.drawn = "yes";
      })
      .catch((error) => { root.querySelector("[data-space-wait]")?.replaceChildren(`The trials could not be loaded: ${error.message}`); });
  }
})();
