// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Zoom, search and details of the flame graph. Every box is a <g> with its name in data-n, its value in data-v, the sum
// of the values left of it in data-l and its depth in data-d; the script only moves and hides boxes.
'use strict';
(function () {
  var svg = document.documentElement;
  var boxes = [];
  var rootBox = null;
  var zoomed = null;
  var pattern = null;
  var query = '';

  function byId(id) {
    return document.getElementById(id);
  }

  function load() {
    var groups = byId('boxes').children;
    for (var i = 0; i < groups.length; i++) {
      var rect = groups[i].children[1];
      boxes.push({
        group: groups[i],
        rect: rect,
        label: groups[i].children[2],
        title: groups[i].children[0].textContent,
        name: groups[i].getAttribute('data-n'),
        left: parseFloat(groups[i].getAttribute('data-l')),
        value: parseFloat(groups[i].getAttribute('data-v')),
        depth: parseInt(groups[i].getAttribute('data-d'), 10)
      });
      groups[i].hsBox = boxes[i];
    }
    rootBox = boxes[0];
    zoomed = rootBox;
  }

  // Names are cut to what fits; a letter is taken as 0.6 of the font's height wide.
  function fit(box, widthInPixels) {
    var letters = Math.floor((widthInPixels - 6) / 7);
    var text = '';
    if (letters >= 3) {
      text = box.name.length <= letters ? box.name : box.name.slice(0, letters - 2) + '..';
    }
    if (box.label.textContent !== text) {
      box.label.textContent = text;
    }
  }

  function inside(box, outer) {
    return box.left >= outer.left && box.left + box.value <= outer.left + outer.value;
  }

  function place(box, left, width, pixels) {
    box.rect.setAttribute('x', left + '%');
    box.rect.setAttribute('width', width + '%');
    box.label.setAttribute('x', left + '%');
    fit(box, width / 100 * pixels);
  }

  function draw() {
    var pixels = svg.clientWidth || svg.getBoundingClientRect().width || 1200;
    var scale = 100 / Math.max(zoomed.value, 1);
    boxes.forEach(function (box) {
      var caller = box.depth < zoomed.depth && inside(zoomed, box);
      var shown = caller || (box.depth >= zoomed.depth && inside(box, zoomed));
      box.group.classList.toggle('hidden', !shown);
      box.group.classList.toggle('caller', caller);
      if (caller) {
        place(box, 0, 100, pixels);
      } else if (shown) {
        place(box, (box.left - zoomed.left) * scale, box.value * scale, pixels);
      }
    });
    byId('reset').classList.toggle('hidden', zoomed === rootBox);
  }

  function zoom(box) {
    zoomed = box;
    draw();
    showMatches();
  }

  function compile(text) {
    if (!text) {
      return null;
    }
    try {
      return new RegExp(text, 'i');
    } catch (e) {
      return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'i');
    }
  }

  // Matched boxes below a matched box are part of it and are not counted again.
  function matchedValue() {
    var sum = 0;
    var ends = [];
    boxes.forEach(function (box) {
      var related = inside(box, zoomed) || (box.depth < zoomed.depth && inside(zoomed, box));
      if (!pattern || !related || !pattern.test(box.name)) {
        return;
      }
      var covered = ends.some(function (outer) {
        return outer.depth < box.depth && inside(box, outer);
      });
      if (!covered) {
        ends.push(box);
        sum += Math.min(box.value, zoomed.value);
      }
    });
    return sum;
  }

  function showMatches() {
    boxes.forEach(function (box) {
      box.group.classList.toggle('match', !!pattern && pattern.test(box.name));
    });
    var text = '';
    if (pattern) {
      text = 'Matched: ' + (100 * matchedValue() / Math.max(zoomed.value, 1)).toFixed(1) + ' %';
    }
    byId('matched').textContent = text;
  }

  function search(text) {
    query = text;
    pattern = compile(text);
    showMatches();
  }

  function openSearch() {
    byId('search-field').classList.remove('hidden');
    var input = byId('search-input');
    input.focus();
    input.select();
  }

  function closeSearch() {
    byId('search-input').value = '';
    byId('search-input').blur();
    byId('search-field').classList.add('hidden');
    search('');
  }

  function boxOf(target) {
    while (target && target !== svg) {
      if (target.hsBox) {
        return target.hsBox;
      }
      target = target.parentNode;
    }
    return null;
  }

  function details(box) {
    byId('details').textContent = box ? box.title : '';
  }

  function onKey(event) {
    if (event.key === 'Escape') {
      if (query || !byId('search-field').classList.contains('hidden')) {
        closeSearch();
      } else {
        zoom(rootBox);
      }
      event.preventDefault();
    } else if ((event.key === 'f' && (event.ctrlKey || event.metaKey)) || event.key === 'F3') {
      openSearch();
      event.preventDefault();
    }
  }

  function onClick(event) {
    var box = boxOf(event.target);
    if (box) {
      zoom(box);
    }
  }

  load();
  byId('boxes').addEventListener('click', onClick);
  byId('boxes').addEventListener('mouseover', function (event) {
    details(boxOf(event.target));
  });
  byId('boxes').addEventListener('mouseleave', function () {
    details(null);
  });
  byId('reset').addEventListener('click', function () {
    zoom(rootBox);
  });
  byId('search').addEventListener('click', openSearch);
  byId('search-input').addEventListener('input', function (event) {
    search(event.target.value);
  });
  window.addEventListener('keydown', onKey);
  window.addEventListener('resize', draw);
  window.heapsonde = {boxes: boxes, zoom: zoom, search: search, reset: function () { zoom(rootBox); }};
  draw();
})();
