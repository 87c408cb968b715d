// The list of asked facts of one result: search, filters, order, pages, and details.
const FACT_HEADS = [
  ["Question", "question", "words"],
  ["Right answer", "answer", "words answer"],
  ["Prediction", "prediction", "words prediction"],
  ["Relation", "relation", "words"],
  ["Right : wrong", "right", "number"],
  ["P(right)", "probability", "number"],
  ["Known", "known", "number"],
  ["Believed", "belief", "words"],
];
const PAGE = 50;
const factList = { order: [], page: 0, column: "known_high", down: false };

function filteredFacts() {
  const words = wordsOf(at("asked-search"));
  const chosen = (name) => (at(`asked-${name}`).value === "" ? null : Number(at(`asked-${name}`).value));
  const [relation, belief, answer] = ["relation", "belief", "answer"].map(chosen);
  const rows = [];
  for (let row = 0; row < data.rows; row++) {
    if (relation !== null && columns.relation[row] !== relation) continue;
    if (belief !== null && columns.belief[row] !== belief) continue;
    if (answer !== null && Number(isKnown(row)) !== answer) continue;
    if (words.length && !hasWords(row, words)) continue;
    rows.push(row);
  }
  return rows;
}
function sortValue(row) {
  if (factList.column === "right") return columns.right[row] - columns.wrong[row];
  const value = columns[factList.column][row];
  if (factList.column !== "probability" || value <= 0) return value;
  return (value % 1000) / 10 ** Math.floor(value / 1000);
}
function sortedFacts(rows) {
  // Strings are in alphabetical order, so places sort as they do.
  const keys = new Float64Array(data.rows);
  for (const row of rows) keys[row] = sortValue(row);
  const sign = factList.down ? -1 : 1;
  return rows.sort((one, other) => sign * (keys[one] - keys[other]) || one - other);
}
function factCell(row, column) {
  const share = (value) => (value / 1000).toFixed(2);
  switch (column) {
    case "known":
      return `${share(columns.known[row])} [${share(columns.known_low[row])}, ${share(columns.known_high[row])}]`;
    case "belief":
      return BELIEFS[columns.belief[row]];
    case "probability":
      return probability(columns.probability[row]);
    case "right":
      return `${grouped(columns.right[row])} : ${grouped(columns.wrong[row])}`;
    default:
      return text(columns[column][row]);
  }
}
// A button that opens and closes a row of details below its own row.
function detailButton(name, line, width, makeDetails) {
  const button = htmlElement("button", { type: "button", "aria-expanded": "false" }, name);
  button.addEventListener("click", () => {
    const open = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!open));
    if (open) {
      line.nextSibling.remove();
      return;
    }
    const more = htmlElement("tr", { class: "detail" });
    const whole = htmlElement("td", { colspan: width });
    whole.append(...makeDetails());
    more.append(whole);
    line.after(more);
  });
  return button;
}
function factLine(row) {
  const line = htmlElement("tr");
  for (const [, column, kind] of FACT_HEADS) {
    const place = htmlElement("td", { class: kind });
    if (kind.startsWith("words")) place.dir = "auto";
    if (column === "question") {
      const name = factCell(row, column) || data.facts[row];
      place.append(detailButton(name, line, FACT_HEADS.length, () => [factDetail(row)]));
    } else {
      place.textContent = factCell(row, column);
    }
    if (column === "belief") place.prepend(htmlElement("span", { class: `swatch ${beliefClass(row)}` }));
    line.append(place);
  }
  return line;
}
function drawFacts(rows) {
  at("asked-table").tBodies[0].replaceChildren(...rows.map(factLine));
}
function showFactPage() {
  const { order, page } = factList;
  drawFacts(order.slice(page * PAGE, (page + 1) * PAGE));
  const pages = Math.max(1, Math.ceil(order.length / PAGE));
  at("asked-page").textContent = `page ${grouped(page + 1)} of ${grouped(pages)}`;
  at("asked-before").disabled = page === 0;
  at("asked-next").disabled = page + 1 >= pages;
  at("asked-pager").hidden = pages === 1;
}
function showFacts() {
  factList.order = sortedFacts(filteredFacts());
  factList.page = 0;
  at("asked-count").textContent = `${grouped(factList.order.length)} of ${counted(data.rows, "fact")}`;
  showFactPage();
}
function factHead(row, [name, column, kind]) {
  const head = htmlElement("th", { scope: "col", class: kind === "number" ? "number" : "" });
  const button = htmlElement("button", { type: "button" }, name);
  button.addEventListener("click", () => {
    factList.down = factList.column === column ? !factList.down : kind === "number";
    factList.column = column;
    for (const other of row.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", factList.down ? "descending" : "ascending");
    showFacts();
  });
  head.append(button);
  return head;
}
function beginFacts() {
  const relations = [...new Set(columns.relation)].sort((one, other) => one - other);
  offer(
    at("asked-relation"),
    relations.map((place) => [place, text(place)]),
  );
  offer(
    at("asked-belief"),
    BELIEFS.map((word, place) => [place, word]),
  );
  const row = at("asked-table").tHead.rows[0];
  row.append(...FACT_HEADS.map((head) => factHead(row, head)));
  whenChanged(at("asked-form"), showFacts);
  at("asked-before").addEventListener("click", () => {
    factList.page--;
    showFactPage();
  });
  at("asked-next").addEventListener("click", () => {
    factList.page++;
    showFactPage();
  });
  // Print all pages of the list.
  window.addEventListener("beforeprint", () => drawFacts(factList.order));
  window.addEventListener("afterprint", showFactPage);
  at("asked-table").hidden = at("asked-form").hidden = false;
  showFacts();
  setTimeout(() => searchText(0));
}
