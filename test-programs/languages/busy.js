// SPDX-License-Identifier: Apache-2.0
'use strict';

function fibonacci(n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

function words(n) {
  const counts = new Map();
  for (let i = 0; i < n; i++) {
    const word = `word ${i % 997}`;
    counts.set(word, (counts.get(word) || 0) + 1);
  }
  const lines = [...counts].map(([word, count]) => word + count).sort((a, b) => (a < b ? -1 : 1));
  return JSON.parse(JSON.stringify(lines)).join('\n').replace(/word (\d+)/g, '$1').length;
}

function descend(n) { return n === 0 ? words(1000) + fibonacci(15) : descend(n - 1) + 1; }

function work() {
  let sum = 0;
  for (let i = 0; i < 20; i++) sum += descend(50);
  setImmediate(work);
  return sum;
}

work();
