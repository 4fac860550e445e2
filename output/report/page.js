"use strict";
(() => {
  const first = 50, step = 500;
  const data = JSON.parse(document.getElementById("data").textContent);
  const pick = (name, id) => document.querySelector(`[data-${name}="${id}"]`);
  for (const [id, { columns, rows }] of Object.entries(data)) {
    const table = pick("table", id);
    if (!table) continue;
    const search = pick("search", id), more = pick("more", id), count = pick("count", id);
    let shown = rows, limit = first, sorted = -1, down = false;
    const head = table.createTHead().insertRow(), body = table.createTBody();
    columns.forEach((column, i) => {
      const th = document.createElement("th"), button = document.createElement("button");
      th.scope = "col";
      if (column.number) th.className = "number";
      button.type = "button";
      button.textContent = column.name;
      button.addEventListener("click", () => {
        down = sorted === i ? !down : !!column.number;
        sorted = i;
        [...head.cells].forEach((cell, k) => k === i ? cell.setAttribute("aria-sort", down ? "descending" : "ascending") : cell.removeAttribute("aria-sort"));
        draw();
      });
      th.append(button);
      head.append(th);
    });
    const draw = () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      shown = words.length ? rows.filter((row) => { const text = row.join("\n").toLowerCase(); return words.every((word) => text.includes(word)); }) : rows.slice();
      if (sorted >= 0) {
        const number = columns[sorted].number;
        shown.sort((a, b) => (number ? a[sorted] - b[sorted] : String(a[sorted]).localeCompare(String(b[sorted]))) * (down ? -1 : 1));
      }
      const part = document.createDocumentFragment();
      for (const row of shown.slice(0, limit)) {
        const tr = document.createElement("tr");
        row.forEach((value, i) => {
          const td = document.createElement("td");
          if (columns[i].number) td.className = "number";
          if (columns[i].link && /^https?:\/\//.test(value)) {
            const a = document.createElement("a");
            a.href = value;
            a.rel = "noopener noreferrer nofollow";
            a.textContent = value;
            td.append(a);
          } else {
            td.textContent = columns[i].number ? Number(value).toLocaleString("en") : value;
          }
          tr.append(td);
        });
        part.append(tr);
      }
      body.replaceChildren(part);
      more.hidden = shown.length <= limit;
      count.textContent = `${Math.min(limit, shown.length).toLocaleString("en")} of ${shown.length.toLocaleString("en")}`;
    };
    search.addEventListener("input", () => { limit = first; draw(); });
    more.addEventListener("click", () => { limit += step; draw(); });
    draw();
  }
})();
