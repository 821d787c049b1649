// Keys that mean the same wherever one is in the explorer, and the part of it that has the focus.

const PARTS = ["map", "side", "way", "images"];

/** The id of the part that has the focus; "" where none of them has it. */
const findPart = () => PARTS.find((id) => document.getElementById(id)?.contains(document.activeElement)) || "";

/** Up, to where one came from: the tile or row that was opened, or the list of what was found. */
function goUp() {
  if (returnToFound()) return;
  const way = findPlace();
  const name = way[way.length - 1].name;
  goTo(state.target, way.slice(1, -1).map((one) => one.name), name, findPart() || "map");
}

/** Where nothing has the focus, as after a link was followed, the keys are the map's. */
function takeKey(event) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("input[type=search], select")) return;
  if (event.key === "/") document.getElementById("find").focus();
  else if ((event.key === "Escape" || event.key === "Backspace") && canGoUp()) leave();
  else return;
  event.preventDefault();
}

const isSearching = () => Boolean(document.activeElement.closest(".found"));

function canGoUp() {
  const active = document.activeElement;
  const isHere = [document.body, document.getElementById("main")].includes(active) || active.closest("#bytes");
  return isHere && (isSearching() || state.path.length > 0);
}

/** From what was found back to the field; from a place to the one above. */
function leave() {
  if (isSearching()) document.getElementById("find").select();
  else goUp();
}
