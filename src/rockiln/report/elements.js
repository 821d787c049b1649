// Elements, amounts and colours. Text reaches the document as text only: no markup is ever parsed on this page.

const facts = JSON.parse(document.getElementById("facts").textContent);

/** An element: attributes, listeners (onclick: …), and children, which are elements or text. */
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(element.style, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** 1234567 → "1.2 MB"; decimal units, as registries count. The space does not break. */
function formatBytes(bytes) {
  let amount = bytes;
  for (const unit of ["B", "kB", "MB"]) {
    if (Math.abs(amount) < 1000) return (unit === "B" ? amount : amount.toFixed(1)) + "\u00a0" + unit;
    amount /= 1000;
  }
  return amount.toFixed(2) + "\u00a0GB";
}

const formatCount = (count) => String(count).replace(/\B(?=(\d{3})+$)/g, "\u202f");

function formatShare(part, whole) {
  const percent = whole ? (100 * part) / whole : 0;
  return (percent > 0 && percent < 0.1 ? "<\u20090.1" : percent.toFixed(1)) + "\u00a0%";
}

/** Thousands of files are listed by few words: "1 file", "2 files". */
const plural = (count, noun) => `${formatCount(count)} ${noun}${count === 1 ? "" : "s"}`;

/** A path that breaks between its words, not within one. */
const breakPath = (path) => path.split(/(?<=[/_.-])(?=[^/_.-])/).flatMap((part, index) => (index ? [make("wbr"), part] : [part]));

/** Kinds of files that share a colour, in the order of the legend. */
const KIND_COLOURS = [
  ["library", "Shared libraries", ["library"]],
  ["kernel", "GPU kernels and their data", ["kernel data"]],
  ["python", "Python", ["python"]],
  ["bytecode", "Byte code", ["byte code"]],
  ["program", "Programs", ["program"]],
  ["data", "Data", ["data"]],
  ["other", "Headers, docs, metadata", ["header", "static library", "docs", "metadata"]],
];
const COLOUR_OF_KIND = Object.fromEntries(KIND_COLOURS.flatMap(([id, , kinds]) => kinds.map((kind) => [kind, id])));

/** Archs keep their colour on every page: the known ones by this list, others by their name. */
const ARCH_COLOURS = {
  gfx906: 6, gfx908: 0, gfx90a: 1, gfx942: 2, gfx950: 3, gfx1030: 7, gfx1100: 4, gfx1101: 5, gfx1200: 0, gfx1201: 6,
};

/** Families and generic targets have the colour of their first arch: gfx11xx and gfx11-generic that of gfx1100. */
function archColour(arch) {
  const name = arch.split(":")[0].replace(/^(gfx1[12])-generic$/, "$100").replace(/x/g, (letter, place) => (place < 3 ? letter : "0"));
  if (name === "host") return "host";
  if (name in ARCH_COLOURS) return "arch" + ARCH_COLOURS[name];
  let sum = 0;
  for (const letter of name) sum = (sum * 31 + letter.charCodeAt(0)) % 8;
  return "arch" + sum;
}

const CLASS_WORDS = {
  os: "system", rocm: "ROCm", python: "Python", wheel: "wheel", framework: "framework", plugin: "plugin",
  image: "made by rockiln",
};
