// The API reference, docs/sdk/api.md, made of the package's types: `cargo xtask build` writes it, and
// sdk/tests/package.test.mjs compares.
//
// Invariant: every declaration that an entry's types export is in it, with its comment and the comments of its members.

import { readFileSync, writeFileSync } from "node:fs";
import { argv } from "node:process";
import { fileURLToPath } from "node:url";

const TARGET = new URL("../docs/sdk/api.md", import.meta.url);
const HEAD = `# API reference

Made of the package's types by \`cargo xtask build\`: do not change it here.
`;

const read = (path) => readFileSync(new URL(path, import.meta.url), "utf8");

/** The whole page. */
export function reference() {
  const { exports } = JSON.parse(read("package.json"));
  const entries = Object.keys(exports).filter((path) => typeof exports[path] === "object");
  return [HEAD, ...entries.map(section)].join("\n");
}

export const written = () => readFileSync(TARGET, "utf8");

function section(path) {
  const file = path === "." ? "index" : path.slice(2);
  const declarations = statements(read(`js/${file}.d.ts`)).filter(({ code }) => !code.startsWith("import "));
  return [`## \`${path.replace(".", "oncegate")}\`\n`, ...declarations.map(declaration)].join("\n");
}

/** The statements of a text, or the members of a body: each with its comment. */
function statements(text) {
  const found = [];
  let rest = text.trim();
  while (rest !== "") {
    const comment = rest.match(/^\/\*\*([\s\S]*?)\*\/\s*/);
    if (comment) rest = rest.slice(comment[0].length);
    const end = endOf(rest);
    found.push({ comment: comment?.[1] ?? "", code: rest.slice(0, end).trim() });
    rest = rest.slice(end).trim();
  }
  return found;
}

/** Where the first statement ends: at its semicolon, or at the brace that closes its body. */
function endOf(text) {
  let depth = 0;
  for (let place = 0; place < text.length; place += 1) {
    if (text.startsWith("/**", place)) place = text.indexOf("*/", place) + 1;
    else if ("{([".includes(text[place])) depth += 1;
    else if ("})]".includes(text[place])) depth -= 1;
    const isBody = text[place] === "}" && /^(export |declare )*(interface|class|global|namespace|module)\b/.test(text);
    if (depth === 0 && (text[place] === ";" || isBody)) return place + 1;
  }
  throw new Error(`a declaration has no end: ${text.slice(0, 80)}`);
}

function declaration({ comment, code }) {
  const shared = code.match(/^export \* from "\.\/(.*)\.js";$/);
  if (shared) return `Everything of \`${shared[1] === "index" ? "oncegate" : `oncegate/${shared[1]}`}\`.\n`;
  if (code === "export {};") return `${prose(comment)}It exports nothing: importing it is enough.\n`;
  const [, head, body] = code.match(/^((?:export |declare )*(?:interface|class|global)[^{]*)\{([\s\S]*)\}$/) ?? [];
  const title = `### ${nameOf(code)}\n`;
  if (head === undefined) return [title, prose(comment), block(code)].filter(Boolean).join("\n");
  return [title, prose(comment), block(head.trim()), ...statements(body).map(member)].filter(Boolean).join("\n");
}

function nameOf(code) {
  const name = code.match(/\b(?:function|interface|type|class|const|global)\s*([\w$]*)/);
  return name?.[1] ? `\`${name[1]}\`` : "In the page";
}

function member({ comment, code }) {
  const text = prose(comment).trimEnd();
  return `${block(code.replace(/;$/, ""))}\n${text}\n`.trimEnd() + "\n";
}

const block = (code) => `\`\`\`ts\n${withoutIndent(code)}\n\`\`\`\n`;

/** The code as if it stood at the margin; its first line has been trimmed already. */
function withoutIndent(code) {
  const [first, ...more] = code.split("\n");
  const last = more.at(-1) ?? "";
  const indent = Math.max(0, last.search(/\S/) - (/^\s*[})\]]/.test(last) ? 0 : 2));
  return [first, ...more.map((line) => line.slice(indent))].join("\n");
}

/** A comment as Markdown. */
function prose(comment) {
  const text = comment.split("\n").map((line) => line.replace(/^\s*\* ?/, "").trimEnd()).join("\n").trim();
  return text === "" ? "" : tagged(text.replace(/\{@link (?:[\w$]+\.)?([\w$]+)\}/g, "`$1`")) + "\n";
}

function tagged(text) {
  return text
    .replace(/\n*^@defaultValue (?:(lang) )?/gm, (_, of) => `\n\nDefault${of ? ` of \`${of}\`` : ""}: `)
    .replace(/\n*^@param (\w+) /gm, "\n\n`$1`: ")
    .replace(/\n*^@returns /gm, "\n\nReturns: ")
    .trim();
}

if (argv[1] === fileURLToPath(import.meta.url)) writeFileSync(TARGET, reference());
