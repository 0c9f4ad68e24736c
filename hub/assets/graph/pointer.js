// Pointer, wheel and touch on the graph: they pan, zoom, select, open and close.

export function listen(view, actions) {
  const pointers = new Map();
  let moved = 0;
  const local = (event) => {
    const area = view.element.getBoundingClientRect();
    return { x: event.clientX - area.left, y: event.clientY - area.top };
  };
  view.element.addEventListener("wheel", (event) => {
    const { x, y } = local(event);
    if (event.ctrlKey || event.metaKey) view.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0022)), x, y);
    // At its end the page scrolls on.
    else if (!view.pan(-event.deltaX - (event.shiftKey ? event.deltaY : 0), event.shiftKey ? 0 : -event.deltaY)) return;
    event.preventDefault();
  }, { passive: false });
  view.element.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    pointers.set(event.pointerId, local(event));
    if (pointers.size === 1) moved = 0;
  });
  view.element.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) return;
    const now = local(event);
    if (pointers.size === 2) {
      const other = [...pointers].find(([id]) => id !== event.pointerId)[1];
      const [far, near] = [Math.hypot(now.x - other.x, now.y - other.y), Math.hypot(before.x - other.x, before.y - other.y)];
      if (near) view.zoom(far / near, (now.x + other.x) / 2, (now.y + other.y) / 2);
      moved += 10;
    } else {
      moved += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
      if (moved > 4) {
        if (!view.element.hasPointerCapture(event.pointerId)) view.element.setPointerCapture(event.pointerId);
        view.element.classList.add("is-dragged");
        view.pan(now.x - before.x, now.y - before.y);
      }
    }
    pointers.set(event.pointerId, now);
  });
  const end = (event) => {
    if (pointers.delete(event.pointerId)) view.element.classList.remove("is-dragged");
  };
  view.element.addEventListener("pointerup", end);
  view.element.addEventListener("pointercancel", end);
  view.element.addEventListener("click", (event) => {
    if (moved > 4) return;
    const { x, y } = local(event);
    const box = view.at(x, y);
    const closing = event.target.closest?.("[data-close]");
    if (closing) actions.close(Number(closing.dataset.close));
    else if (event.target.closest?.("[data-toggle]")) actions.toggle(box);
    else if (box) actions.press(box);
    else if (event.target === view.svg || event.target === view.element) actions.press(null);
  });
  view.element.addEventListener("dblclick", (event) => {
    const { x, y } = local(event);
    const box = view.at(x, y);
    if (box?.kind === "scope") actions.toggle(box);
    else if (!box) view.zoom(1.6, x, y);
  });
}
