// What is wrong with the layout of a page, as a list: boxes that leave the window, and boxes of text
// that lie over each other.
(() => {
  const left = ".skip, .log, thead";
  const outside = [...document.querySelectorAll("main *, header *")].filter((each) => {
    const box = each.getBoundingClientRect();
    return box.width && (box.right > innerWidth + 1 || box.left < -1) && !each.closest(left);
  });
  const texts = "h1, h2, main p, main li, td, .tile, .views a, .host, .host text, .gantt .name, .gantt svg";
  const boxes = [...document.querySelectorAll(texts)]
    .filter((each) => !each.closest(left) && each.getClientRects().length)
    .map((each) => [each, each.getBoundingClientRect()])
    .filter(([, box]) => box.width > 1 && box.height > 1);
  const over = [];
  for (let i = 0; i < boxes.length; i++) {
    for (let j = i + 1; j < boxes.length; j++) {
      const [a, p] = boxes[i], [b, q] = boxes[j];
      if (a.contains(b) || b.contains(a)) continue;
      const x = Math.min(p.right, q.right) - Math.max(p.left, q.left);
      const y = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
      const names = [a, b].map((each) => each.textContent.trim().slice(0, 60));
      if (x > 2 && y > 4) over.push(`${names.join(" | ")}: ${x.toFixed()} x ${y.toFixed()}`);
    }
  }
  return [...outside.map((each) => "outside: " + each.outerHTML.slice(0, 120)), ...over].slice(0, 6);
})()
