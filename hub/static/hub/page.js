// Enhancements of pages that work without JavaScript: scroll positions, copy buttons, closing menus,
// marks of charts.
(() => {
  // Scroll the current tab into view: on a phone the tabs are wider than the screen.
  const tab = document.querySelector(".tabs [aria-current]");
  if (tab) tab.parentElement.scrollLeft = tab.offsetLeft - tab.parentElement.offsetLeft - 40;

  // Center the graph of a lineage on the node of this page.
  const here = document.querySelector(".lineage .here rect");
  if (here) {
    const box = here.closest(".lineage");
    box.scrollLeft = here.x.baseVal.value + here.width.baseVal.value / 2 - box.clientWidth / 2;
  }

  const copyable = navigator.clipboard ? document.querySelectorAll(".copy") : [];
  for (const box of copyable) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(box.querySelector("code").textContent);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    box.append(button);
  }

  // A chosen mark of the chart chooses its tolerance class, opens the snippet that loads it by its
  // error, and its build is described in words.
  for (const figure of document.querySelectorAll(".answer [data-chart]")) {
    figure.addEventListener("chart:select", ({ detail }) => {
      for (const words of document.querySelectorAll(".answer [data-build]")) {
        words.hidden = words.dataset.build !== detail.id;
        if (words.hidden) continue;
        const offer = document.getElementById(`tolerance-${words.dataset.tolerance}`);
        if (offer) offer.checked = true;
      }
      for (const price of document.querySelectorAll(".answer [data-price]")) {
        price.open = price.dataset.price === detail.id;
      }
    });
  }

  // When a live part is replaced, its tables keep their horizontal scroll positions.
  const positions = new Map();
  const boxes = () => document.querySelectorAll(".scroll[id]");
  document.addEventListener("htmx:beforeSwap", () => {
    for (const box of boxes()) positions.set(box.id, box.scrollLeft);
  });
  document.addEventListener("htmx:afterSwap", () => {
    for (const box of boxes()) box.scrollLeft = positions.get(box.id) ?? 0;
  });

  const close = (menu) => { menu.open = false; };
  document.addEventListener("click", (event) => {
    for (const menu of document.querySelectorAll(".menu[open]")) {
      if (!menu.contains(event.target)) close(menu);
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const menu of document.querySelectorAll(".menu[open]")) {
      close(menu);
      menu.querySelector("summary").focus();
    }
  });
})();
