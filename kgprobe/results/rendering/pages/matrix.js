// The matrix of several results: facts by relation, one column for each result. A relation is a strip of ticks, one
// for each fact, that opens into rows.
const MATRIX_PAGE = 50;
const WIDEST_TICK = 9;
const STATE_CLASSES = ["surely-known", "leans-known", "leans-unknown", "surely-unknown", "not-asked"];
// Facts by id: the row of each result, or -1. Relations: place, facts, number of shown rows while open.
const matrix = { facts: [], relations: [], open: new Map() };

function collectMatrix() {
  const facts = new Map();
  for (let row = 0; row < data.rows; row++) {
    const id = data.facts[row];
    if (!facts.has(id)) facts.set(id, { first: row, rows: new Array(data.results.length).fill(-1) });
    facts.get(id).rows[columns.result[row]] = row;
  }
  matrix.facts = [...facts.values()];
  for (const fact of matrix.facts) rateFact(fact);
}
// How many results know the fact, and how far they are apart; those with opposite answers come first.
function rateFact(fact) {
  const asked = fact.rows.filter((row) => row >= 0);
  const shares = asked.map((row) => columns.known[row]);
  fact.asked = asked.length;
  fact.knowing = asked.filter(isKnown).length;
  fact.isApart = fact.knowing > 0 && fact.knowing < asked.length;
  fact.spread = Math.max(...shares) - Math.min(...shares) + (fact.isApart ? 1000 : 0);
  fact.known = shares.reduce((sum, share) => sum + share, 0) / shares.length;
}
const MATRIX_STATES = {
  "": () => true,
  apart: (fact) => fact.isApart,
  none: (fact) => fact.knowing === 0,
  all: (fact) => fact.knowing === fact.asked,
  some: (fact) => fact.asked < data.results.length,
};
function hasState(fact, state) {
  if (state in MATRIX_STATES) return MATRIX_STATES[state](fact);
  // Of one result: its number and the belief, such as "1 surely known".
  const [result, belief] = state.split(/ (.*)/);
  const row = fact.rows[Number(result)];
  return row >= 0 && BELIEFS[columns.belief[row]] === belief;
}
const MATRIX_ORDERS = {
  apart: (one, other) => other.spread - one.spread || one.known - other.known,
  known: (one, other) => one.known - other.known,
  name: (one, other) => columns.question[one.first] - columns.question[other.first],
};
const RELATION_ORDERS = {
  apart: (one, other) => other.apart / other.facts.length - one.apart / one.facts.length || one.known - other.known,
  known: (one, other) => one.known - other.known,
  name: (one, other) => one.place - other.place,
};
function chooseFacts() {
  const words = wordsOf(at("matrix-search"));
  const state = at("matrix-state").value;
  return matrix.facts.filter(
    (fact) => hasState(fact, state) && (!words.length || fact.rows.some((row) => row >= 0 && hasWords(row, words))),
  );
}
function byRelation(facts, order) {
  const relations = new Map();
  for (const fact of facts) {
    const place = columns.relation[fact.first];
    if (!relations.has(place)) relations.set(place, { place, facts: [], apart: 0, known: 0 });
    relations.get(place).facts.push(fact);
  }
  for (const relation of relations.values()) {
    relation.apart = relation.facts.filter((fact) => fact.isApart).length;
    relation.known = relation.facts.reduce((sum, fact) => sum + fact.known, 0) / relation.facts.length;
    relation.facts.sort((one, other) => MATRIX_ORDERS[order](one, other) || one.first - other.first);
  }
  return [...relations.values()].sort((one, other) => RELATION_ORDERS[order](one, other) || one.place - other.place);
}

// The ticks of the facts of one relation for one result: one path for each state.
function stripOf(relation, result) {
  const paths = STATE_CLASSES.map(() => "");
  const counts = STATE_CLASSES.map(() => 0);
  // Ticks of few facts have gaps.
  const width = relation.facts.length > 150 ? 1 : 0.8;
  relation.facts.forEach((fact, place) => {
    const row = fact.rows[result];
    const state = row < 0 ? STATE_CLASSES.length - 1 : columns.belief[row];
    paths[state] += `M${place} 0h${width}v1h-${width}z`;
    counts[state]++;
  });
  const known = counts[0] + counts[1];
  const asked = relation.facts.length - counts[counts.length - 1];
  const name = asked ? `${grouped(known)} of ${counted(asked, "fact")} known` : "not asked";
  const strip = svgElement("svg", {
    class: "strip",
    viewBox: `0 0 ${relation.facts.length} 1`,
    preserveAspectRatio: "none",
    role: "img",
    "aria-label": name,
    style: `max-width: ${WIDEST_TICK * relation.facts.length}px`,
  });
  paths.forEach((path, state) => {
    if (path) strip.append(svgElement("path", { class: STATE_CLASSES[state], d: path }));
  });
  const cell = htmlElement("td");
  cell.append(
    strip,
    htmlElement(
      "span",
      { class: "share", "aria-hidden": "true" },
      asked ? `${percent((1000 * known) / asked)} of ${grouped(asked)}` : "not asked",
    ),
  );
  return cell;
}
function answerCell(row) {
  if (row < 0) return htmlElement("td", { class: "unasked" }, "not asked");
  const right = isKnown(row);
  const share = columns.known[row] / 1000;
  const cell = htmlElement("td", {
    class: "state",
    dir: "auto",
    style: `--shade: var(${share < 0.5 ? "--unknown" : "--known"}); --share: ${Math.abs(2 * share - 1).toFixed(2)}`,
  });
  cell.append(
    htmlElement(
      "span",
      { class: right ? "mark answer" : "mark prediction", "aria-hidden": "true" },
      right ? "✓" : "✗",
    ),
    htmlElement("span", { class: "spoken" }, right ? "right: " : "wrong: "),
    ` ${text(right ? columns.answer[row] : columns.prediction[row]) || (right ? "" : "another answer")}`,
  );
  cell.title = `${BELIEFS[columns.belief[row]]}, known ${percent(columns.known[row])}`;
  return cell;
}
function matrixLine(fact) {
  const line = htmlElement("tr", { class: "fact" });
  const head = htmlElement("th", { scope: "row", dir: "auto" });
  const asked = fact.rows.filter((row) => row >= 0);
  const name = text(columns.question[fact.first]) || data.facts[fact.first];
  head.append(detailButton(name, line, data.results.length + 1, () => asked.map(factDetail)));
  head.append(htmlElement("span", { class: "truth" }, text(columns.answer[fact.first])));
  line.append(head, ...fact.rows.map(answerCell));
  return line;
}
// The first row stays in place: it may have the focus.
function closeRelation(body) {
  while (body.rows.length > 1) body.lastChild.remove();
}
// The rows of an open relation: the first ones, and a button for more.
function drawOpenRelation(body, relation, most) {
  closeRelation(body);
  body.append(...relation.facts.slice(0, most).map(matrixLine));
  const left = relation.facts.length - most;
  if (left <= 0) return;
  const line = htmlElement("tr");
  const cell = htmlElement("td", { colspan: data.results.length + 1 });
  const button = htmlElement(
    "button",
    { type: "button" },
    `Show ${grouped(Math.min(left, MATRIX_PAGE))} of ${grouped(left)} more`,
  );
  button.addEventListener("click", () => {
    matrix.open.set(relation.place, most + MATRIX_PAGE);
    drawOpenRelation(body, relation, most + MATRIX_PAGE);
    body.rows[most + 1]?.querySelector("button").focus();
  });
  cell.append(button);
  line.append(cell);
  body.append(line);
}
function toggleRelation(body, relation, button) {
  const opens = !matrix.open.has(relation.place);
  if (opens) matrix.open.set(relation.place, MATRIX_PAGE);
  else matrix.open.delete(relation.place);
  button.setAttribute("aria-expanded", String(opens));
  if (opens) drawOpenRelation(body, relation, MATRIX_PAGE);
  else closeRelation(body);
}
function relationBody(relation) {
  const body = htmlElement("tbody");
  const line = htmlElement("tr", { class: "relation" });
  const head = htmlElement("th", { scope: "rowgroup", dir: "auto" });
  const shown = matrix.open.get(relation.place);
  const button = htmlElement(
    "button",
    { type: "button", "aria-expanded": String(shown !== undefined) },
    text(relation.place),
  );
  button.addEventListener("click", () => toggleRelation(body, relation, button));
  head.append(
    button,
    htmlElement("small", {}, `${counted(relation.facts.length, "fact")}, ${grouped(relation.apart)} disagree`),
  );
  line.append(head, ...data.results.map((_, result) => stripOf(relation, result)));
  body.append(line);
  if (shown !== undefined) drawOpenRelation(body, relation, shown);
  return body;
}
function showMatrix() {
  const facts = chooseFacts();
  matrix.relations = byRelation(facts, at("matrix-order").value);
  // Few facts, such as those that a search finds, are shown at once.
  if (facts.length <= MATRIX_PAGE && facts.length < matrix.facts.length)
    for (const relation of matrix.relations)
      if (!matrix.open.has(relation.place)) matrix.open.set(relation.place, MATRIX_PAGE);
  for (const body of [...at("matrix").tBodies]) body.remove();
  at("matrix").append(...matrix.relations.map(relationBody));
  const apart = facts.filter((fact) => fact.isApart).length;
  at("matrix-count").textContent =
    `${grouped(facts.length)} of ${counted(matrix.facts.length, "fact")}, in ${counted(matrix.relations.length, "relation")}; they disagree on ${grouped(apart)}`;
}
// Arrow keys go from row to row, and open and close relations.
function moveInMatrix(event) {
  const buttons = [...at("matrix").querySelectorAll("tbody th button")];
  const place = buttons.indexOf(document.activeElement);
  if (place < 0) return;
  const steps = { ArrowDown: place + 1, ArrowUp: place - 1, Home: 0, End: buttons.length - 1 };
  const isOpen = buttons[place].getAttribute("aria-expanded") === "true";
  if (event.key in steps) buttons[Math.max(0, Math.min(buttons.length - 1, steps[event.key]))].focus();
  else if ((event.key === "ArrowRight" && !isOpen) || (event.key === "ArrowLeft" && isOpen)) buttons[place].click();
  else return;
  event.preventDefault();
}
function openAllRelations() {
  [...at("matrix").tBodies].forEach((body, place) => drawOpenRelation(body, matrix.relations[place], Infinity));
}
function beginMatrix() {
  collectMatrix();
  const row = at("matrix").tHead.rows[0];
  row.append(htmlElement("th", { scope: "col" }, "Relation and fact"));
  for (const { label } of data.results) row.append(htmlElement("th", { scope: "col", dir: "auto" }, label));
  data.results.forEach(({ label }, result) =>
    offer(
      at("matrix-state"),
      BELIEFS.map((word) => [`${result} ${word}`, `${label}: ${word}`]),
    ),
  );
  whenChanged(at("matrix-form"), () => {
    matrix.open.clear();
    showMatrix();
  });
  at("matrix").addEventListener("keydown", moveInMatrix);
  window.addEventListener("beforeprint", openAllRelations);
  window.addEventListener("afterprint", showMatrix);
  at("matrix").hidden = at("matrix-form").hidden = false;
  showMatrix();
}
