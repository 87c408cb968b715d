// Lint Cypher with Neo4j's own linter, without a server.
// Reads [{name, text, parameters}] as JSON from stdin; prints [{name, line, message}] as JSON.
import { readFileSync } from "node:fs";
import { lintCypherQuery } from "@neo4j-cypher/language-support";

const findings = [];
for (const { name, text, parameters } of JSON.parse(readFileSync(0, "utf-8"))) {
  const known = Object.fromEntries(parameters.map((parameter) => [parameter, {}]));
  for (const { message, range } of lintCypherQuery(text, { parameters: known }).diagnostics) {
    findings.push({ name, line: range.start.line + 1, message });
  }
}
console.log(JSON.stringify(findings));
