// What somebody types, as the search takes it.

// Words that every question has: each would find all that begins with it, as `to` finds `torch`.
const FILLING = new Set((
  "a about after all an and any are as at be been but by can cannot could did do does doing done for from get gets "
  + "getting give given go got had has have having help how i if in into is isn it its just like make makes may me my "
  + "need no not of off on only or our out please see should show so some such than that the their them then there "
  + "these they this those to too try up us use used using very want was we were what when where whether which while "
  + "who why will with without won would you your don doesn didn torch pytorch torch.compile"
).split(" "));

const wordsIn = (text) => text.toLowerCase().match(/c\+\+|[\p{L}\p{N}_.]*[\p{L}\p{N}_]/gu) || [];

// The words that say what is meant; all of them where no word does.
function meaning(text) {
  const words = wordsIn(text);
  const said = words.filter((word) => !FILLING.has(word));
  return said.length ? said : words;
}

// A plain word without its ending: `hangs` and `hanging` are found with `hang`.
const ENDING = /(?:ations?|ies|ing|ed|es|er|ly|s)$/;
function stem(word) {
  const bare = /^\p{L}+$/u.test(word) && !word.endsWith("ss") ? word.replace(ENDING, "") : word;
  return bare.length < 4 ? word : bare;
}

// As lunr's language has it: what begins so (Material adds the * of it), and four times as much where it is the word
// itself. What is short, a number, or a part of a name is that word alone. Signs, lunr's operators, are left out.
function terms(word) {
  const parts = partsOf(word);
  if (parts.length > 1) return parts.map((part) => `${part}^2`).join(" ");
  if (word.length < 3 || /^\d/.test(word)) return `${word}^1`;
  const bare = stem(word);
  return bare === word ? `${word}^4 ${word}` : bare;
}

// As the index parts them.
const partsOf = (name) => name.split(/_|\.(?!\d)/).filter(Boolean);

// A name alone is looked for whole: where all of its parts are.
function query(text) {
  const words = meaning(text);
  const parts = partsOf(words[0] || "");
  if (words.length > 1 || parts.length < 2) return words.map(terms).join(" ");
  return parts.map((part) => `+${part}`).join(" ") + "*";
}

// Material hands what was typed to its worker: on the way it becomes a query.
const QUERY = 2;
const { postMessage } = Worker.prototype;
Worker.prototype.postMessage = function (message, ...rest) {
  const isQuery = message && message.type === QUERY && typeof message.data === "string";
  const data = isQuery && query(message.data);
  return postMessage.call(this, isQuery ? { ...message, data } : message, ...rest);
};
