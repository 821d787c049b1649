// The parts of the page below the map, and the overview of several images. Each takes a target and returns a section.

const section = (id, title, note, ...children) =>
  make("section", { id, "aria-labelledby": `${id}-title` },
    make("div", { class: "title" }, make("h2", { id: `${id}-title`, tabindex: "-1" }, title), note ? make("p", {}, note) : null),
    ...children);

/** Columns are [heading, class]; "n" aligns numbers. Rows are arrays of text or elements. */
function makeTable(caption, columns, rows) {
  const cell = (content, index) => make(index ? "td" : "th", { class: columns[index][1], scope: index ? null : "row" }, content);
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Table: ${caption}` },
    make("table", {},
      make("caption", { class: "hidden" }, caption),
      make("thead", {}, make("tr", {}, columns.map(([head, kind]) => make("th", { scope: "col", class: kind }, head || make("span", { class: "hidden" }, "Share"))))),
      make("tbody", {}, rows.map((row) => make("tr", {}, row.map(cell))))));
}

const makeBar = (part, whole, kind) =>
  make("span", { class: "track", "aria-hidden": "true" },
    make("span", { class: `fill ${kind || ""}`, style: { width: `${whole ? Math.max(0.5, (100 * part) / whole) : 0}%` } }));

const badge = (kind, text) => make("span", { class: `badge ${kind}` }, text);

/** Compressed bytes of a target's layers that a predicate takes. */
const sumLayers = (target, takes) =>
  target.layers.filter(takes).reduce((sum, layer) => sum + layer.compressed, 0);

function findHolders(id) {
  return facts.targets.filter((target) => target.layers.some((layer) => layer.id === id));
}

function makeOverview(onChoose, chosen) {
  const largest = Math.max(...facts.targets.map((target) => target.compressed));
  const rows = facts.targets.map((target, index) => [
    make("span", { class: "numbered" }, make("span", { class: "number faint" }, String(index + 1)),
      make("button", { type: "button", class: "link mono", "aria-current": target === chosen ? "true" : null, onclick: () => onChoose(target) }, target.id)),
    makeBar(target.compressed, largest),
    formatBytes(target.compressed),
    formatBytes(target.unpacked),
    String(target.layers.length),
    formatBytes(sumLayers(target, (layer) => findHolders(layer.id).length > 1)),
    describeSmoke(target.smoke),
    describeAudit(target.audit),
  ]);
  const columns = [["Image", "path"], ["", "bar"], ["To pull", "n"], ["Unpacked", "n"], ["Layers", "n"], ["Shared", "n"], ["Smoke", ""], ["Audit", ""]];
  return section("images", `${facts.targets.length} images`, "Shared: compressed bytes in layers that another image here has too.",
    makeTable("Images", columns, rows), makeSharing());
}

/** How much of the row's image somebody has already who holds the column's. */
function makeSharing() {
  if (facts.targets.length > 16) return null;
  const rows = facts.targets.map((target, index) => [
    make("span", { class: "numbered" }, make("span", { class: "number faint" }, String(index + 1)), make("span", { class: "mono" }, target.id)),
    ...facts.targets.map((other) => {
      if (other === target) return make("span", { class: "faint" }, "\u2013");
      const ids = new Set(other.layers.map((layer) => layer.id));
      const share = sumLayers(target, (layer) => ids.has(layer.id)) / (target.compressed || 1);
      return make("span", { class: "heat", style: { "--heat": share.toFixed(3) }, ref: share }, `${Math.round(100 * share)}\u00a0%`);
    }),
  ]);
  const details = make("details", {}, make("summary", {}, "What two images share"),
    make("p", { class: "note" }, "Who has the image of a column holds so much already of the image of the row, in compressed bytes."),
    makeTable("Shared layers", [["Image", "path"], ...facts.targets.map((_, index) => [String(index + 1), "n"])], rows));
  details.querySelectorAll(".heat").forEach((cell) => cell.style.setProperty("--heat", cell.getAttribute("ref")));
  return details;
}

function describeSmoke(smoke) {
  if (!smoke) return badge("off", "not run");
  const count = (status) => smoke.checks.filter((check) => check.outcome.status === status).length;
  if (!smoke.is_current) return badge("off", "of another build");
  if (count("failed")) return badge("bad", `\u2715 ${count("failed")} failed`);
  const unavailable = count("unavailable");
  return badge(unavailable ? "warn" : "good", `\u2713 ${count("passed")} passed${unavailable ? `, ${unavailable} unavailable` : ""}`);
}

function describeAudit(audit) {
  if (!audit) return badge("off", "not run");
  const count = (severity) => audit.findings.filter((finding) => finding.severity === severity).length;
  if (count("error")) return badge("bad", `\u2715 ${plural(count("error"), "error")}`);
  if (count("warning")) return badge("warn", plural(count("warning"), "warning"));
  return badge("good", "\u2713 clean");
}

function makeFigures(target) {
  const figure = (label, value, note, bar) =>
    make("div", { class: "figure" }, make("dt", {}, label), make("dd", {}, make("strong", {}, value), note ? make("small", {}, note) : null, bar));
  const within = (bytes, ceiling) =>
    ceiling ? [`of ${formatBytes(ceiling)} allowed`, makeBar(bytes, ceiling, bytes > ceiling ? "over" : "")] : ["no budget", null];
  const [left, how] = sumLeftOut(target);
  return make("dl", { class: "figures" },
    figure("To pull", formatBytes(target.compressed), ...within(target.compressed, target.budget.compressed)),
    figure("Unpacked", formatBytes(target.unpacked), ...within(target.unpacked, target.budget.unpacked)),
    figure("Packages", formatCount(target.packages.length), plural(target.files, "file")),
    figure("GPU code", target.archs.host < target.unpacked ? formatBytes(target.unpacked - target.archs.host) : "none", describeArchs(target)),
    figure("Left out", formatBytes(left), how.join(", ") || null));
}

const EMPTY_CUTS = { stripped: [], files: [], shared: [] };
const sumSaved = (items) => items.reduce((sum, item) => sum + item.before_bytes - item.after_bytes, 0);

/** Bytes that are not in the image, and in words what they were: whole paths, tables and code out of files, equal files. */
function sumLeftOut(target) {
  const { stripped, files, shared } = target.slimmed || EMPTY_CUTS;
  const tables = stripped.flatMap((part) => part.files);
  const cut = files.filter((item) => item.outcome === "slimmed");
  const dropped = target.drops.reduce((sum, drop) => sum + drop.bytes, 0);
  const parts = [
    [dropped, `dropped by ${plural(target.drops.length, "rule")}`],
    [sumSaved(tables), `symbols of ${plural(tables.length, "file")}`],
    [sumSaved(cut), `GPU code of ${plural(cut.length, "file")}`],
    [shared.reduce((sum, item) => sum + item.size_bytes, 0), plural(shared.length, "equal file")],
  ];
  return [parts.reduce((sum, [bytes]) => sum + bytes, 0), parts.filter(([bytes]) => bytes).map(([, words]) => words)];
}

function describeArchs(target) {
  const archs = Object.keys(target.archs).filter((arch) => arch !== "host").sort((one, other) => target.archs[other] - target.archs[one]);
  const named = archs.slice(0, 4).join(", ");
  return archs.length > 4 ? `${named} and ${archs.length - 4} more` : named || null;
}

function makeLayers(target) {
  const rows = target.layers.map((layer) => {
    const holders = findHolders(layer.id).length;
    const [kind, ...rest] = layer.title.split(": ");
    return [
      [make("span", { class: "kind faint" }, kind), rest.join(": ")],
      makeBar(layer.compressed, target.compressed),
      formatBytes(layer.compressed),
      formatBytes(layer.unpacked),
      ...(facts.targets.length > 1 ? [holders > 1 ? `${holders} of ${facts.targets.length}` : "this one"] : []),
    ];
  });
  const columns = [["Layer", ""], ["", "bar"], ["To pull", "n"], ["Unpacked", "n"], ...(facts.targets.length > 1 ? [["In images", "n"]] : [])];
  return section("layers", "Layers", "The most stable first: what changes least is pulled least.", makeTable("Layers", columns, rows));
}

function makeDrops(target) {
  const items = target.drops.map((drop) =>
    make("details", { class: "rule" },
      make("summary", {}, make("b", {}, drop.rule), make("span", { class: "why" }, drop.why), make("span", { class: "n" }, plural(drop.files, "path")), make("span", { class: "n" }, formatBytes(drop.bytes))),
      makeTable(`Largest of ${drop.rule}`, [["Path", "mono path"], ["Brought by", ""], ["Size", "n"]],
        drop.largest.map(([path, bytes, owner]) => [breakPath(`/${path}`), owner, formatBytes(bytes)])),
      drop.files > drop.largest.length ? make("p", { class: "note" }, `The largest ${drop.largest.length}; rockiln show ${target.id} dropped lists all.`) : null));
  return section("left-out", "Left out", "What packages brought and the build took out again: by a rule of the recipe, or since it is for other GPUs.",
    items.length ? items : make("p", { class: "empty" }, "No rule took anything whole."), makeSlimmed(target));
}

/** What was cut out of files, rule by rule for symbols; files with code for GPUs; links in place of equal files. */
function makeSlimmed(target) {
  if (!target.slimmed) return null;
  const { stripped, files, shared } = target.slimmed;
  const order = (items) => [...items].sort((one, other) => sumSaved([other]) - sumSaved([one]) || (one.path < other.path ? -1 : 1));
  const by = (outcome) => order(files.filter((item) => item.outcome === outcome));
  return make("div", {},
    stripped.map((part) => makeSlimmedPart(part.rule, part.why, order(part.files), (item) => `without symbol and debug tables, of ${item.owner}`)),
    makeSlimmedPart("cut", "code for other GPUs was cut out of these files", by("slimmed"), (item) => `keeps ${listTargets(item.kept)}; without ${listTargets(item.dropped)}`),
    makeSlimmedPart("left alone", "not fully understood, so nothing was cut", by("refused"), (item) => item.reason),
    makeSlimmedPart("needed", "all of their code is for GPUs of this image, or for all", by("unchanged"), (item) => item.reason || `keeps ${listTargets(item.kept)}`),
    makeSlimmedPart("equal files", "the same bytes under several names are kept once", shared.map((item) => ({ ...item, before_bytes: item.size_bytes, after_bytes: 0 })), (item) => `link to /${item.link}, by rule ${item.rule}`));
}

const listTargets = (targets) => Object.keys(targets || {}).join(", ") || "no code";

function makeSlimmedPart(title, why, items, describe) {
  if (!items.length) return null;
  const shown = items.slice(0, 200);
  return make("details", { class: "rule" },
    make("summary", {}, make("b", {}, title), make("span", { class: "why" }, why), make("span", { class: "n" }, plural(items.length, "file")), make("span", { class: "n" }, formatBytes(sumSaved(items)))),
    makeTable(title, [["File", "mono path"], ["What", "wide"], ["Before", "n"], ["After", "n"]],
      shown.map((item) => [breakPath(`/${item.path}`), describe(item), formatBytes(item.before_bytes), formatBytes(item.after_bytes)])),
    items.length > shown.length ? make("p", { class: "note" }, `The first ${shown.length}; rockiln show TARGET slimmed lists all.`) : null);
}

const SEVERITY_BADGES = { error: "bad", warning: "warn", note: "off", expected: "off" };
const FINDING_LIMIT = 100;

/** Findings rule by rule; what somebody should do something about is open. */
function makeAudit(target) {
  if (!target.audit) return section("audit", "Audit", null, make("p", { class: "empty" }, "Not run: rockiln audit ", make("span", { class: "mono" }, target.id)));
  const groups = new Map();
  for (const finding of target.audit.findings) {
    const key = `${finding.severity} ${finding.rule}`;
    groups.set(key, [...(groups.get(key) || []), finding]);
  }
  const parts = [...groups.values()].map((findings) => makeFindings(findings, target.audit.meanings || {}));
  return section("audit", "Audit", "What can be told without running the image.", parts.length ? parts : make("p", { class: "empty" }, "\u2713 Nothing was found."));
}

function makeFindings(findings, meanings) {
  const [first] = findings;
  const isOpen = first.severity === "error" || first.severity === "warning";
  const rows = findings.slice(0, FINDING_LIMIT).map((finding) =>
    make("li", {}, make("span", { class: "mono" }, finding.path ? breakPath(finding.path) : "settings of the image"), make("span", {}, finding.evidence, finding.reason ? make("span", { class: "why" }, ` (${finding.reason})`) : null)));
  return make("details", { class: "rule findings", open: isOpen },
    make("summary", {}, make("span", {}, badge(SEVERITY_BADGES[first.severity] || "off", first.severity), " ", make("b", {}, first.rule)), make("span", { class: "why" }, meanings[first.rule] || ""), make("span", { class: "n" }, plural(findings.length, "finding"))),
    make("ul", {}, rows),
    findings.length > rows.length ? make("p", { class: "note" }, `The first ${rows.length}; rockiln show TARGET audit lists all.`) : null,
    first.remedy && first.severity !== "expected" ? make("p", { class: "note" }, `\u2192 ${first.remedy}`) : null);
}

function makeSmoke(target) {
  if (!target.smoke) return section("smoke", "Smoke", null, make("p", { class: "empty" }, "Not run: rockiln smoke ", make("span", { class: "mono" }, target.id)));
  const badges = { passed: ["good", "\u2713 passed"], failed: ["bad", "\u2715 failed"], unavailable: ["warn", "unavailable"] };
  const rows = target.smoke.checks.map((check) => [
    check.name, check.tier, [badge(...(badges[check.outcome.status] || ["off", check.outcome.status])), check.outcome.reason ? make("span", { class: "why" }, ` ${check.outcome.reason}`) : null],
    `${Number(check.duration_s || 0).toFixed(1)}\u00a0s`,
  ]);
  const note = `In the ${target.smoke.engine} engine${target.smoke.is_current ? "" : ", of another build than this one"}.`;
  return section("smoke", "Smoke", note,
    makeTable("Checks", [["Check", ""], ["Tier", ""], ["Outcome", "wide"], ["Time", "n"]], rows));
}
