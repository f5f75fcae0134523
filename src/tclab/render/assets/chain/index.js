// Which lines are joined.

// A line is known by its number across all panes, from 0. As closure.py's Index, which the tests
// compare it with.
class Index {
  constructor(data) {
    this.total = data.counts.reduce((a, b) => a + b, 0);
    this.sides = [[], []]; // marked and linked lines of each join
    const before = [0, 0];
    for (const join of data.joins) {
      join.forEach((distances, side) => {
        let at = before[side];
        const lines = distances.map((distance) => (at += distance));
        before[side] = lines[0];
        this.sides[side].push(lines);
      });
    }
    this.of = this.sides.map((lists) => this.joinsOf(lists));
  }

  joinsOf(lists) {
    const of = new Array(this.total);
    lists.forEach((lines, join) => {
      for (const line of lines) (of[line] = of[line] || []).push(join);
    });
    return of;
  }

  // Everything reached from `start`: side 1 is what it came from, side 0 what it became.
  walk(start, side, into) {
    const used = new Uint8Array(this.sides[0].length);
    const seen = new Uint8Array(this.total);
    const todo = [start];
    seen[start] = 1;
    while (todo.length) {
      for (const join of this.of[side][todo.pop()] || []) {
        if (used[join]) continue;
        used[join] = 1;
        for (const line of this.sides[1 - side][join]) {
          if (seen[line]) continue;
          seen[line] = into[line] = 1;
          todo.push(line);
        }
      }
    }
    return into;
  }

  closure(line) {
    const into = new Uint8Array(this.total);
    into[line] = 1;
    this.walk(line, 1, into);
    return this.walk(line, 0, into);
  }

  linked(line) { return this.of.some((side) => side[line]); }

  // For each line the sources it is made from, as places in `sources`, the most telling ones only.
  owners(sources) {
    const sizes = sources.map(() => 0);
    const shared = sources.map(() => new Uint32Array(sources.length));
    const of = new Array(this.total);
    sources.forEach((source, place) => {
      const became = this.walk(source, 0, new Uint8Array(this.total));
      became.forEach((yes, line) => {
        if (!yes) return;
        sizes[place]++;
        of[line] = of[line] || [];
        for (const other of of[line]) { shared[place][other]++; shared[other][place]++; }
        of[line].push(place);
      });
    });
    const outdone = (a, b) => a !== b && shared[a][b] === sizes[b]
      && (sizes[a] > sizes[b] || (sizes[a] === sizes[b] && a < b));
    const known = new Map(); // few distinct sets, many lines
    return of.map((places) => {
      const key = places.join();
      if (!known.has(key)) known.set(key, places.filter((a) => !places.some((b) => outdone(a, b))));
      return known.get(key);
    });
  }
}
