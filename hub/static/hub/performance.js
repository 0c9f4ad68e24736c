// The performance page: choices apply at once, the graph chooses the group of the inspector, and lines,
// loops and decisions that belong together are marked together. Everything works without this script,
// as pages.
(() => {
  const submit = (event) => { if (event.target.matches("select")) event.target.form.requestSubmit(); };
  for (const form of document.querySelectorAll("[data-pickers]")) {
    form.addEventListener("change", (event) => {
      // Another target has other builds: the server chooses among them.
      if (event.target.name === "target") form.querySelector("[name=build]").disabled = true;
      submit(event);
    });
  }

  const inspected = () => document.querySelector("[data-inspector]")?.dataset.group;
  const load = (group) => {
    if (group === inspected()) return;
    const link = document.querySelector(`a[data-group="${CSS.escape(group)}"]`);
    if (link) { link.click(); return; }
    // The group is on another page of the table: its address differs in its number only.
    const any = document.querySelector("a[data-group][hx-get]");
    if (!any) return;
    const fragment = any.getAttribute("hx-get").replace(/\/groups\/\d+/, `/groups/${group}`);
    window.htmx.ajax("GET", fragment, { target: "#inspector", swap: "outerHTML" });
  };
  document.addEventListener("graph:select", ({ detail }) => {
    if (detail && /^\d+$/.test(detail.group ?? "")) load(detail.group);
  });
  const follow = () => {
    const group = inspected();
    for (const row of document.querySelectorAll(".groups tr.current")) row.classList.remove("current");
    document.getElementById(`row-${group}`)?.classList.add("current");
    const graph = document.querySelector("[data-graph]")?.graph;
    if (graph && group) graph.select({ group });
  };
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.target.matches?.("[data-inspector]") || event.target.id === "inspector") { follow(); prepare(); }
  });

  // Marks in one part of the inspector what belongs to what is pointed at, or reached by a key, in another.
  const split = (text) => (text ? text.split(" ") : []);
  const SVG = "http://www.w3.org/2000/svg";
  // The code that the loops of a box belong to; assembly has that of the loop nest beside it.
  const listing = (box) => box.querySelector(":scope > [data-listing]");
  const clear = (box) => {
    for (const one of box.querySelectorAll(".on, .here")) one.classList.remove("on", "here");
    for (const ruler of box.querySelectorAll("[data-ruler]")) ruler.replaceChildren();
  };
  const mark = (box, loops, decisions) => {
    const lines = [];
    for (const row of box.querySelectorAll("tr[data-loop]")) {
      const own = split(row.dataset.decisions);
      row.classList.toggle("on", loops.has(row.dataset.loop) || own.some((one) => decisions.has(one)));
      if (row.classList.contains("on")) loops.add(row.dataset.loop);
    }
    for (const decision of box.querySelectorAll("[data-decision]")) {
      const row = decision.closest("tr");
      decision.classList.toggle("on", row.classList.contains("on")
        && (!decisions.size || decisions.has(decision.dataset.decision)));
    }
    for (const line of box.querySelectorAll(".code-line[data-loops]")) {
      const on = split(line.dataset.loops).some((one) => loops.has(one));
      line.classList.toggle("on", on);
      if (on && listing(box).contains(line)) lines.push(Number(line.dataset.line));
    }
    const ruler = listing(box)?.querySelector("[data-ruler]");
    if (!ruler) return lines;
    const height = Math.max(ruler.viewBox.baseVal.height / 200, 1);
    ruler.replaceChildren(...lines.map((line) => {
      const rect = document.createElementNS(SVG, "rect");
      rect.setAttribute("y", line - 1);
      rect.setAttribute("width", 10);
      rect.setAttribute("height", height);
      return rect;
    }));
    return lines;
  };
  const reveal = (element) => {
    const code = element?.closest(".code");
    if (!code) return;
    const top = element.getBoundingClientRect().top - code.getBoundingClientRect().top;
    if (top < 0 || top > code.clientHeight - 40) code.scrollTop += top - code.clientHeight / 3;
  };
  const revealLine = (box, line) => reveal(listing(box)?.querySelector(`.code-line[data-line="${line}"]`));
  // Scrolls all code to its first marked line, except what the element is in.
  const revealMarks = (box, element) => {
    for (const code of box.querySelectorAll(".code"))
      if (!code.contains(element)) reveal(code.querySelector(".code-line.on"));
  };
  const say = (text) => {
    const status = document.querySelector("[data-linked-status]");
    if (status) status.textContent = text;
  };
  const markOf = (box, element) => {
    clear(box);
    const decision = element.closest("[data-decision]");
    if (decision) return mark(box, new Set(), new Set([decision.dataset.decision]));
    const row = element.closest("tr[data-loop]");
    if (row) return mark(box, new Set([row.dataset.loop]), new Set());
    const line = element.closest(".code-line");
    return line ? mark(box, new Set(split(line.dataset.loops)), new Set()) : [];
  };
  const words = (row) => [...row.cells].map((cell) => cell.textContent.trim()).filter(Boolean).join(", ");

  const step = (items, at, key, page) => {
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1,
      PageDown: at + page, PageUp: at - page }[key];
    return to === undefined ? undefined : Math.min(Math.max(to, 0), items.length - 1);
  };
  const walkLoops = (box, list) => {
    let at = -1;
    list.addEventListener("keydown", (event) => {
      const rows = [...list.querySelectorAll("tr[data-loop]")].filter((row) => row.offsetParent);
      const to = step(rows, at, event.key, 8);
      if (event.target !== list || to === undefined || !rows.length) return;
      event.preventDefault();
      at = to;
      markOf(box, rows[at]);
      rows[at].scrollIntoView({ block: "nearest" });
      revealMarks(box, rows[at]);
      revealLine(box, rows[at].dataset.lines);
      say(words(rows[at]));
    });
  };
  const walkLines = (box, code) => {
    const lines = code.getElementsByClassName("code-line");
    let at = -1;
    code.addEventListener("keydown", (event) => {
      const to = step(lines, at, event.key, 20);
      if (to === undefined || !lines.length) return;
      event.preventDefault();
      at = to;
      markOf(box, lines[at]);
      lines[at].classList.add("here");
      reveal(lines[at]);
      revealMarks(box, lines[at]);
      const row = box.querySelector("tr.on");
      say(`Line ${at + 1}: ${lines[at].textContent.trim()}${row ? `. Loop ${words(row)}` : ""}`);
    });
  };
  const prepare = () => {
    for (const box of document.querySelectorAll("[data-linked]:not([data-ready])")) {
      box.dataset.ready = "";
      box.addEventListener("mouseover", ({ target }) => markOf(box, target));
      box.addEventListener("mouseleave", () => clear(box));
      box.addEventListener("click", ({ target }) => {
        markOf(box, target);
        revealMarks(box, target);
      });
      const start = box.querySelector(`tr[data-lines="${box.dataset.start}"]`);
      if (start) { markOf(box, start); revealMarks(box, start); revealLine(box, box.dataset.start); }
      for (const list of box.querySelectorAll("[data-linked-list]")) walkLoops(box, list);
      for (const code of box.querySelectorAll("pre.code")) walkLines(box, code);
    }
  };
  prepare();
  follow();
})();
