// Copy buttons, and keyboard access to wide code, tables and menus. Pages work without this file.
(() => {
  for (const box of document.querySelectorAll(".highlight pre, .table-wrapper")) {
    if (box.scrollWidth <= box.clientWidth) continue;
    box.tabIndex = 0;
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", box.matches("pre") ? "Code" : "Table");
  }

  // On small screens the theme opens its menus by labels, which have no focus of their own.
  const labels = { "nav-overlay-icon": "Pages of the manual", "toc-overlay-icon": "On this page" };
  for (const [kind, name] of Object.entries(labels)) {
    for (const label of document.querySelectorAll(`label.${kind}`)) {
      label.tabIndex = 0;
      label.setAttribute("role", "button");
      label.setAttribute("aria-label", name);
      label.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        label.click();
      });
    }
  }

  const blocks = navigator.clipboard ? document.querySelectorAll("div.highlight") : [];
  for (const block of blocks) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy-code";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(block.querySelector("pre").textContent.trimEnd());
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    block.append(button);
  }
})();
