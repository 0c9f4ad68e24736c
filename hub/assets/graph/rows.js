// The table of a graph, walked by keys: a tree grid with one stop in the order of tabs.

export function walkRows(table, choose) {
  const rows = [...table.tBodies[0].rows];
  if (!rows.length) return;
  rows.forEach((row, at) => (row.tabIndex = at ? -1 : 0));
  const go = (row) => {
    if (!row) return;
    for (const other of rows) other.tabIndex = -1;
    row.tabIndex = 0;
    row.focus();
  };
  table.addEventListener("keydown", (event) => {
    const row = event.target.closest("tr");
    const at = rows.indexOf(row);
    if (at < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    const level = (one) => Number(one.getAttribute("aria-level"));
    if (event.key === "ArrowDown") go(rows[at + 1]);
    else if (event.key === "ArrowUp") go(rows[at - 1]);
    else if (event.key === "Home") go(rows[0]);
    else if (event.key === "End") go(rows.at(-1));
    else if (event.key === "ArrowLeft") go(rows.slice(0, at).reverse().find((one) => level(one) < level(row)));
    else if (event.key === "ArrowRight") go(rows[at + 1] && level(rows[at + 1]) > level(row) ? rows[at + 1] : null);
    else if (event.key === "Enter" && event.target === row && row.dataset.node) choose(Number(row.dataset.node));
    else return;
    event.preventDefault();
  });
}
