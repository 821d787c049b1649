// Amounts and a rectangle → rectangles of those areas, as square as can be (Bruls, Huizing and van Wijk, 2000).

/** `amounts` are positive, the largest first. Returns [x, y, width, height] for each. */
function squarify(amounts, x, y, width, height) {
  const total = amounts.reduce((sum, amount) => sum + amount, 0);
  const boxes = [];
  if (!total || width <= 0 || height <= 0) return amounts.map(() => [x, y, 0, 0]);
  const scale = (width * height) / total;
  let first = 0;
  while (first < amounts.length) {
    const side = Math.min(width, height);
    const [last, area] = fillRow(amounts, first, side, scale);
    const depth = area / side;
    let place = 0;
    for (let index = first; index < last; index += 1) {
      const length = (amounts[index] * scale) / depth;
      boxes.push(width >= height ? [x, y + place, depth, length] : [x + place, y, length, depth]);
      place += length;
    }
    if (width >= height) [x, width] = [x + depth, width - depth];
    else [y, height] = [y + depth, height - depth];
    first = last;
  }
  return boxes;
}

/** As many amounts as make the row's worst rectangle better: [index behind the last, their area]. */
function fillRow(amounts, first, side, scale) {
  let area = 0;
  let worst = Infinity;
  let last = first;
  while (last < amounts.length) {
    const grown = area + amounts[last] * scale;
    const depth = grown / side;
    const ends = [amounts[first], amounts[last]].map((amount) => (amount * scale) / depth / depth);
    const ratio = Math.max(...ends.map((one) => Math.max(one, 1 / one)));
    if (ratio > worst) break;
    [area, worst, last] = [grown, ratio, last + 1];
  }
  return [last, area];
}
