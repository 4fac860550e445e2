"use strict";
(() => {
  const first = 25, step = 500;
  const data = JSON.parse(document.getElementById("data").textContent);
  const pick = (name, id) => document.querySelector(`[data-${name}="${id}"]`);
  const grouped = (n) => n.toLocaleString("en");
  const link = (url) => {
    if (!/^https?:\/\//.test(url)) return url;
    const a = document.createElement("a");
    a.href = url;
    a.rel = "noopener noreferrer nofollow";
    a.title = a.textContent = url;
    return a;
  };
  for (const [id, { columns, rows }] of Object.entries(data)) {
    const table = pick("table", id), search = pick("search", id), more = pick("more", id), count = pick("count", id);
    let limit = first, sorted = -1, down = false;
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
    const cell = (value, column) => {
      const td = document.createElement("td");
      td.dataset.label = column.name;
      td.className = column.number ? "number" : column.link ? "link" : column.word ? "word" : "";
      if (column.link) [value].flat().filter(Boolean).forEach((url) => td.append(link(url)));
      else td.textContent = !column.number ? value : column.none && !value ? "" : grouped(value);
      return td;
    };
    const draw = () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      const shown = words.length ? rows.filter((row) => { const text = row.join("\n").toLowerCase(); return words.every((word) => text.includes(word)); }) : rows.slice();
      if (sorted >= 0) {
        const number = columns[sorted].number;
        shown.sort((a, b) => (number ? a[sorted] - b[sorted] : String(a[sorted]).localeCompare(String(b[sorted]))) * (down ? -1 : 1));
      }
      body.replaceChildren(...shown.slice(0, limit).map((row) => {
        const tr = document.createElement("tr");
        tr.append(...row.map((value, i) => cell(value, columns[i])));
        return tr;
      }));
      more.hidden = shown.length <= limit;
      count.textContent = `${grouped(Math.min(limit, shown.length))} of ${grouped(shown.length)} rows`;
    };
    search.addEventListener("input", () => { limit = first; draw(); });
    more.addEventListener("click", () => { limit += step; draw(); });
    draw();
  }
})();
