// The list of asked facts, and the picture of the graph around an entity. All data become text, never markup.
"use strict";
(async () => {
  const at = (id) => document.getElementById(id);
  const htmlElement = (tag, attributes = {}, text = null) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (text !== null) element.textContent = text;
    return element;
  };
  const svgElement = (tag, attributes = {}, text = null) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (text !== null) element.textContent = text;
    return element;
  };
  const grouped = (number) => number.toLocaleString("en");

  async function unpack() {
    const packed = Uint8Array.from(atob(at("asked-facts").textContent), (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  }
  let data;
  try {
    data = await unpack();
  } catch (error) {
    at("asked-failed").textContent = `The facts cannot be read by this browser: ${error}. The files next to this page have them, too.`;
    at("asked-failed").hidden = false;
    return;
  }
  const { strings, columns } = data;
  const BELIEFS = data.beliefs;
  const text = (place) => (place < 0 ? "" : strings[place]);
  const nameOf = (entity) => text(data.entities[entity]);
  // 1234 is 2.34e-1: exponent and three digits.
  const probability = (code) => {
    if (code <= 0) return code < 0 ? "" : "0";
    const value = (code % 1000) / 100 / 10 ** Math.floor(code / 1000);
    return value < 0.001 ? value.toExponential(2) : String(Number(value.toPrecision(3)));
  };
  const thousandth = (value) => (value / 1000).toFixed(2);
  const beliefClass = (row) => BELIEFS[columns.belief[row]].replace(" ", "-");

  // The list.
  const HEADS = [
    ["Question", "question", "words"], ["Right answer", "answer", "words answer"], ["Prediction", "prediction", "words prediction"],
    ["Relation", "relation", "words"], ["Right : wrong", "right", "number"],
    ["P(right)", "probability", "number"], ["Known", "known", "number"], ["Believed", "belief", "words"],
  ];
  if (data.results.length > 1) HEADS.splice(3, 0, ["Result", "result", "words"]);
  const PAGE = 50;
  let haystacks = null;
  let order = null;
  let page = 0;
  let sorting = { column: "known_high", down: false };

  function searchTexts() {
    if (haystacks === null) {
      const lower = strings.map((string) => string.toLowerCase());
      const part = (place) => (place < 0 ? "" : lower[place]);
      haystacks = Array.from({ length: data.rows }, (_, row) =>
        [...[columns.question, columns.answer, columns.prediction].map((column) => part(column[row])),
          part(data.entities[columns.subject[row]]), part(data.entities[columns.object[row]])].join("\n"));
    }
    return haystacks;
  }
  function filtered() {
    const words = at("asked-search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const filters = {};
    for (const name of ["result", "relation", "belief"]) {
      const value = at(`asked-${name}`).value;
      if (value !== "") filters[name] = Number(value);
    }
    const answer = at("asked-answer").value;
    const among = words.length ? searchTexts() : null;
    const rows = [];
    for (let row = 0; row < data.rows; row++) {
      if ("result" in filters && columns.result[row] !== filters.result) continue;
      if ("relation" in filters && columns.relation[row] !== filters.relation) continue;
      if ("belief" in filters && columns.belief[row] !== filters.belief) continue;
      if (answer !== "" && Number(columns.right[row] > columns.wrong[row]) !== Number(answer)) continue;
      if (among && !words.every((word) => among[row].includes(word))) continue;
      rows.push(row);
    }
    return rows;
  }
  const sortValue = (row) => {
    if (sorting.column === "right") return columns.right[row] - columns.wrong[row];
    const value = columns[sorting.column][row];
    if (sorting.column !== "probability" || value <= 0) return value;
    return (value % 1000) / 10 ** Math.floor(value / 1000);
  };
  function sorted(rows) {
    // Strings are in alphabetical order, so places sort as they do.
    const keys = new Float64Array(data.rows);
    for (const row of rows) keys[row] = sortValue(row);
    return rows.sort(sorting.down ? (one, other) => keys[other] - keys[one] || one - other : (one, other) => keys[one] - keys[other] || one - other);
  }
  function cell(row, column) {
    switch (column) {
      case "result": return data.results[columns.result[row]].label;
      case "known": return `${thousandth(columns.known[row])} [${thousandth(columns.known_low[row])}, ${thousandth(columns.known_high[row])}]`;
      case "belief": return BELIEFS[columns.belief[row]];
      case "probability": return probability(columns.probability[row]);
      case "right": return `${grouped(columns.right[row])} : ${grouped(columns.wrong[row])}`;
      default: return text(columns[column][row]);
    }
  }
  function detail(row) {
    const list = htmlElement("dl");
    const add = (name, value) => {
      if (value === "") return;
      list.append(htmlElement("dt", {}, name));
      const definition = htmlElement("dd", { dir: "auto" });
      if (typeof value === "string") definition.textContent = value; else definition.append(value);
      list.append(definition);
    };
    add("Result", `${data.results[columns.result[row]].label}: ${data.results[columns.result[row]].probe}`);
    add("Fact", `${nameOf(columns.subject[row])} — ${text(columns.relation[row])} → ${nameOf(columns.object[row])}`);
    add("Id", data.facts[row]);
    const prompt = columns.prompt[row];
    if (prompt >= 0) { const whole = htmlElement("pre", {}, text(prompt)); add("Prompt", whole); }
    add("Right answer", `${text(columns.answer[row])}${columns.probability[row] < 0 ? "" : `, ${probability(columns.probability[row])}`}`);
    if (columns.text[row] >= 0) { const whole = htmlElement("pre", {}, text(columns.text[row])); add("Generated text", whole); }
    const first = row ? data.ends[row - 1] : 0;
    if (data.ends[row] > first) {
      const names = htmlElement("ul");
      for (let place = first; place < data.ends[row]; place++) names.append(htmlElement("li", { dir: "auto" }, `${text(data.names[place])}: ${probability(data.probabilities[place])}`));
      const more = columns.more[row];
      if (more) names.append(htmlElement("li", {}, `and ${grouped(more)} more, less probable`));
      add("Alternatives", names);
    }
    const going = htmlElement("button", { type: "button" }, "Show in the picture");
    going.addEventListener("click", () => { visit(columns.subject[row], columns.result[row]); at("picture").scrollIntoView({ block: "center" }); });
    if (at("picture")) add("Picture", going);
    return list;
  }
  function drawRows(rows) {
    const body = at("asked-table").tBodies[0];
    body.replaceChildren();
    for (const row of rows) {
      const line = htmlElement("tr");
      for (const [name, column, kind] of HEADS) {
        const place = htmlElement("td", { class: kind });
        if (kind.startsWith("words")) place.dir = "auto";
        if (column === "question") {
          const button = htmlElement("button", { type: "button", "aria-expanded": "false" }, cell(row, column) || data.facts[row]);
          button.addEventListener("click", () => {
            const open = button.getAttribute("aria-expanded") === "true";
            button.setAttribute("aria-expanded", String(!open));
            if (open) { line.nextSibling.remove(); return; }
            const more = htmlElement("tr", { class: "detail" });
            const whole = htmlElement("td", { colspan: HEADS.length });
            whole.append(detail(row));
            more.append(whole);
            line.after(more);
          });
          place.append(button);
        } else {
          place.textContent = cell(row, column);
        }
        if (column === "belief") place.prepend(htmlElement("span", { class: `swatch ${beliefClass(row)}` }));
        line.append(place);
      }
      body.append(line);
    }
  }
  function showPage() {
    drawRows(order.slice(page * PAGE, (page + 1) * PAGE));
    const pages = Math.max(1, Math.ceil(order.length / PAGE));
    at("asked-page").textContent = `page ${grouped(page + 1)} of ${grouped(pages)}`;
    at("asked-before").disabled = page === 0;
    at("asked-next").disabled = page + 1 >= pages;
    at("asked-pager").hidden = pages === 1;
  }
  function showRows() {
    order = sorted(filtered());
    page = 0;
    at("asked-count").textContent = `${grouped(order.length)} of ${grouped(data.rows)} facts`;
    showPage();
  }
  function offer(select, values) {
    select.append(htmlElement("option", { value: "" }, "all"));
    for (const [value, label] of values) select.append(htmlElement("option", { value }, label));
  }
  function beginList() {
    const relations = [...new Set(columns.relation)].sort((one, other) => one - other);
    offer(at("asked-relation"), relations.map((place) => [place, text(place)]));
    offer(at("asked-belief"), BELIEFS.map((word, place) => [place, word]));
    offer(at("asked-result"), data.results.map((result, place) => [place, result.label]));
    const row = at("asked-table").tHead.rows[0];
    for (const [name, column, kind] of HEADS) {
      const head = htmlElement("th", { scope: "col", class: kind === "number" ? "number" : "" });
      const button = htmlElement("button", { type: "button" }, name);
      button.addEventListener("click", () => {
        sorting = { column, down: sorting.column === column ? !sorting.down : kind === "number" };
        for (const other of row.cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", sorting.down ? "descending" : "ascending");
        showRows();
      });
      head.append(button);
      row.append(head);
    }
    let waiting = 0;
    at("asked-form").addEventListener("submit", (event) => event.preventDefault());
    at("asked-form").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(showRows, 60); });
    at("asked-form").addEventListener("reset", () => setTimeout(showRows));
    at("asked-before").addEventListener("click", () => { page--; showPage(); });
    at("asked-next").addEventListener("click", () => { page++; showPage(); });
    // Print all pages of the list.
    window.addEventListener("beforeprint", () => drawRows(order));
    window.addEventListener("afterprint", showPage);
    at("asked-table").hidden = at("asked-form").hidden = false;
    showRows();
    setTimeout(searchTexts);
  }

  // The picture.
  const NODES = 40;
  const EDGES = 70;
  const WIDTH = 900;
  const HEIGHT = 560;
  const picture = at("picture");
  let rowsOf = null;
  let shown = null;
  const before = [];
  let view = { x: 0, y: 0, width: WIDTH, height: HEIGHT };

  function rowsByEntity() {
    if (rowsOf === null) {
      rowsOf = new Map();
      for (let row = 0; row < data.rows; row++)
        for (const end of new Set([columns.subject[row], columns.object[row]])) {
          if (!rowsOf.has(end)) rowsOf.set(end, []);
          rowsOf.get(end).push(row);
        }
    }
    return rowsOf;
  }
  // Surely unknown facts first, then known ones, so that both are visible.
  const worth = (row) => Math.abs(columns.known[row] - 500) + (columns.known[row] < 500 ? 250 : 0);
  function around(entity, result) {
    const nodes = new Set([entity]);
    const edges = [];
    const used = new Set();
    let frontier = [entity];
    for (let step = 0; step < 2; step++) {
      const nextFrontier = [];
      for (const node of frontier) {
        const rows = (rowsByEntity().get(node) || []).filter((row) => columns.result[row] === result && !used.has(row));
        rows.sort((one, other) => worth(other) - worth(one) || one - other);
        for (const row of rows.slice(0, step ? 3 : 24)) {
          const ends = [columns.subject[row], columns.object[row]];
          const fresh = ends.filter((end) => !nodes.has(end));
          if (edges.length >= EDGES || nodes.size + fresh.length > NODES) continue;
          used.add(row);
          edges.push(row);
          for (const end of fresh) { nodes.add(end); nextFrontier.push(end); }
        }
      }
      frontier = nextFrontier;
    }
    const all = (rowsByEntity().get(entity) || []).filter((row) => columns.result[row] === result).length;
    return { entity, result, nodes: [...nodes], edges, all };
  }
  function placed({ nodes, edges }) {
    // Fruchterman and Reingold, from a ring: the same picture each time.
    const points = nodes.map((_, place) => (place === 0 ? { x: 0, y: 0 } : { x: 200 * Math.cos(2.4 * place) * (1 + place / nodes.length), y: 200 * Math.sin(2.4 * place) * (1 + place / nodes.length) }));
    const index = new Map(nodes.map((node, place) => [node, place]));
    const far = Math.sqrt((WIDTH * HEIGHT) / nodes.length) * 0.62;
    for (let round = 0; round < 250; round++) {
      const moved = points.map(() => ({ x: 0, y: 0 }));
      for (let one = 0; one < points.length; one++)
        for (let other = 0; other < one; other++) {
          const x = points[one].x - points[other].x || 0.1 * (one - other);
          const y = points[one].y - points[other].y || 0.1;
          const force = (far * far) / (x * x + y * y);
          moved[one].x += x * force; moved[one].y += y * force; moved[other].x -= x * force; moved[other].y -= y * force;
        }
      for (const row of edges) {
        const one = index.get(columns.subject[row]);
        const other = index.get(columns.object[row]);
        if (one === other) continue;
        const x = points[one].x - points[other].x;
        const y = points[one].y - points[other].y;
        const force = Math.hypot(x, y) / far;
        moved[one].x -= x * force; moved[one].y -= y * force; moved[other].x += x * force; moved[other].y += y * force;
      }
      const heat = 60 * (1 - round / 250);
      points.forEach((point, place) => {
        const length = Math.hypot(moved[place].x, moved[place].y) || 1;
        point.x += (moved[place].x / length) * Math.min(length, heat) - point.x * 0.004;
        point.y += (moved[place].y / length) * Math.min(length, heat) - point.y * 0.012;
      });
    }
    const xs = points.map((point) => point.x);
    const ys = points.map((point) => point.y);
    const left = Math.min(...xs), top = Math.min(...ys);
    const wide = Math.max(...xs) - left || 1, high = Math.max(...ys) - top || 1;
    return points.map((point) => ({ x: 90 + ((point.x - left) / wide) * (WIDTH - 180), y: 40 + ((point.y - top) / high) * (HEIGHT - 80) }));
  }
  const brief = (name, length) => ([...name].length > length ? `${[...name].slice(0, length - 1).join("")}…` : name);
  const describe = (row) => `${nameOf(columns.subject[row])} — ${text(columns.relation[row])} → ${nameOf(columns.object[row])}: ${BELIEFS[columns.belief[row]]}, known ${thousandth(columns.known[row])}`;
  // Approximate box of a text of 12 pixels.
  const box = (x, y, name) => ({ left: x - 3.3 * [...name].length, right: x + 3.3 * [...name].length, top: y - 11, bottom: y + 4 });
  function look() {
    picture.setAttribute("viewBox", `${view.x} ${view.y} ${view.width} ${view.height}`);
  }
  function draw() {
    const points = placed(shown);
    const index = new Map(shown.nodes.map((node, place) => [node, place]));
    const between = new Map();
    const lines = svgElement("g"), words = svgElement("g"), spots = svgElement("g");
    const labels = [];
    for (const row of shown.edges) {
      const one = points[index.get(columns.subject[row])];
      const other = points[index.get(columns.object[row])];
      const pair = [columns.subject[row], columns.object[row]].sort((a, b) => a - b).join();
      const parallel = between.get(pair) || 0;
      between.set(pair, parallel + 1);
      const x = (one.x + other.x) / 2, y = (one.y + other.y) / 2;
      const length = Math.hypot(other.x - one.x, other.y - one.y) || 1;
      const bend = (parallel % 2 ? -1 : 1) * Math.ceil(parallel / 2) * 36 * (columns.subject[row] < columns.object[row] ? 1 : -1);
      const mid = { x: x - ((other.y - one.y) / length) * bend, y: y + ((other.x - one.x) / length) * bend };
      const path = one === other ? `M ${one.x} ${one.y} c -40 -50 40 -50 0 0` : `M ${one.x} ${one.y} Q ${mid.x} ${mid.y} ${other.x} ${other.y}`;
      const line = svgElement("path", { class: `edge ${beliefClass(row)}`, d: path });
      line.append(svgElement("title", {}, describe(row)));
      lines.append(line);
      labels.push({ x: (x + mid.x) / 2, y: (y + mid.y) / 2, name: brief(text(columns.relation[row]), 22) });
    }
    shown.nodes.forEach((node, place) => {
      const point = points[place];
      const name = nameOf(node);
      const spot = svgElement("g", { class: node === shown.entity ? "entity centre" : "entity", tabindex: "0", role: "button", "aria-label": `${name}: ${grouped((rowsByEntity().get(node) || []).length)} asked facts` });
      spot.append(svgElement("circle", { cx: point.x, cy: point.y, r: node === shown.entity ? 11 : 8 }), svgElement("text", { x: point.x, y: point.y - 14, "text-anchor": "middle" }, brief(name, 24)), svgElement("title", {}, name));
      const go = () => visit(node, shown.result);
      spot.addEventListener("click", go);
      spot.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); go(); } });
      spots.append(spot);
    });
    // A relation's name is left out where it would overlap another; the list below has all.
    const full = shown.nodes.map((node, place) => box(points[place].x, points[place].y - 14, brief(nameOf(node), 24)));
    for (const point of points) full.push({ left: point.x - 9, right: point.x + 9, top: point.y - 9, bottom: point.y + 9 });
    for (const { x, y, name } of labels) {
      const place = box(x, y, name);
      if (full.some((other) => place.left < other.right && other.left < place.right && place.top < other.bottom && other.top < place.bottom)) continue;
      full.push(place);
      words.append(svgElement("text", { x, y, "text-anchor": "middle", "aria-hidden": "true" }, name));
    }
    picture.replaceChildren(lines, words, spots);
    const list = at("picture-listed").querySelector("ul");
    list.replaceChildren(...shown.edges.map((row) => htmlElement("li", { dir: "auto" }, describe(row))));
    at("picture-count").textContent = `${nameOf(shown.entity)}: ${grouped(shown.all)} asked facts; the picture has ${shown.edges.length} facts, including those of its neighbours`;
    at("picture-back").disabled = before.length === 0;
    at("picture-entity").value = nameOf(shown.entity);
    view = { x: 0, y: 0, width: WIDTH, height: HEIGHT };
    look();
  }
  function visit(entity, result, again = false) {
    if (shown && !again) before.push([shown.entity, shown.result]);
    at("picture-result").value = String(result);
    const had = picture.contains(document.activeElement);
    shown = around(entity, result);
    draw();
    if (had) picture.querySelector(".centre").focus();
  }
  function zoom(factor) {
    const width = Math.min(4 * WIDTH, Math.max(WIDTH / 8, view.width * factor));
    const height = (width * HEIGHT) / WIDTH;
    view = { x: view.x + (view.width - width) / 2, y: view.y + (view.height - height) / 2, width, height };
    look();
  }
  function beginPicture() {
    const byName = (name) => {
      const lower = name.trim().toLowerCase();
      return [...rowsByEntity().keys()].find((entity) => nameOf(entity).toLowerCase() === lower);
    };
    data.results.forEach((result, place) => at("picture-result").append(htmlElement("option", { value: place }, result.label)));
    at("picture-entity").addEventListener("input", (event) => {
      const lower = event.target.value.trim().toLowerCase();
      const names = [];
      for (const entity of rowsByEntity().keys()) {
        if (names.length === 20) break;
        if (lower && nameOf(entity).toLowerCase().includes(lower)) names.push(nameOf(entity));
      }
      at("picture-entities").replaceChildren(...names.map((name) => htmlElement("option", { value: name })));
    });
    at("picture-form").addEventListener("submit", (event) => {
      event.preventDefault();
      const entity = byName(at("picture-entity").value);
      if (entity === undefined) at("picture-count").textContent = `No asked fact is about “${at("picture-entity").value}”.`;
      else visit(entity, Number(at("picture-result").value));
    });
    at("picture-result").addEventListener("input", () => visit(shown.entity, Number(at("picture-result").value)));
    at("picture-back").addEventListener("click", () => { const [entity, result] = before.pop(); visit(entity, result, true); });
    at("picture-nearer").addEventListener("click", () => zoom(0.75));
    at("picture-farther").addEventListener("click", () => zoom(1 / 0.75));
    picture.addEventListener("keydown", (event) => {
      const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
      if (event.key === "+") zoom(0.75);
      else if (event.key === "-") zoom(1 / 0.75);
      else if (event.key in moves) {
        event.preventDefault();
        view.x += (moves[event.key][0] * view.width) / 10;
        view.y += (moves[event.key][1] * view.height) / 10;
        look();
      }
    });
    let grip = null;
    picture.addEventListener("pointerdown", (event) => { grip = { x: event.clientX, y: event.clientY, view: { ...view } }; });
    picture.addEventListener("pointermove", (event) => {
      if (grip === null) return;
      const scale = view.width / picture.clientWidth;
      view.x = grip.view.x - (event.clientX - grip.x) * scale;
      view.y = grip.view.y - (event.clientY - grip.y) * scale;
      look();
    });
    for (const name of ["pointerup", "pointerleave"]) picture.addEventListener(name, () => { grip = null; });
    at("picture-form").hidden = at("picture-listed").hidden = false;
    picture.removeAttribute("hidden");
    visit(data.start[0], data.start[1], true);
  }
  beginList();
  if (picture) beginPicture();
  document.documentElement.dataset.ready = "yes";
})();
