// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Uses the flame graph of the golden trace as a reader would and writes what went wrong into the attribute data-test.
'use strict';
window.addEventListener('load', function () {
  var wrong = [];

  function expect(what, got, wanted) {
    if (got !== wanted) {
      wrong.push(what + ' is ' + got + ' instead of ' + wanted);
    }
  }

  function box(name) {
    return window.heapsonde.boxes.filter(function (b) { return b.name === name; })[0];
  }

  function hidden() {
    return document.querySelectorAll('#boxes g.hidden').length;
  }

  function classOf(id) {
    return document.getElementById(id).getAttribute('class');
  }

  function key(name, control) {
    window.dispatchEvent(new KeyboardEvent('keydown', {key: name, ctrlKey: !!control}));
  }

  function fire(target, type) {
    target.dispatchEvent(new MouseEvent(type, {bubbles: true}));
  }

  function type(text) {
    var input = document.getElementById('search-input');
    input.value = text;
    input.dispatchEvent(new Event('input', {bubbles: true}));
  }

  function near(text, wanted) {
    return Math.abs(parseFloat(text) - wanted) < 1e-6;
  }

  var boxes = window.heapsonde.boxes;
  expect('the first box', boxes[0].name, 'all');
  expect('boxes hidden at first', hidden(), 0);
  expect('the reset button', classOf('reset'), 'button hidden');

  // A click fills the window with a box, hides its siblings and keeps its callers.
  var target = box('load_config');
  var before = target.rect.getAttribute('x');
  fire(target.rect, 'click');
  expect('the zoomed box begins at 0', near(target.rect.getAttribute('x'), 0), true);
  expect('the zoomed box is all wide', near(target.rect.getAttribute('width'), 100), true);
  expect('a sibling', box('worker_thread').group.classList.contains('hidden'), true);
  expect('its caller', box('main').group.classList.contains('caller'), true);
  expect('its callee', box('parse_line').group.classList.contains('hidden'), false);
  expect('the reset button when zoomed', classOf('reset'), 'button');

  // Escape goes back to exactly the first picture.
  key('Escape');
  expect('boxes hidden after Escape', hidden(), 0);
  expect('the box after Escape', near(target.rect.getAttribute('x'), parseFloat(before)), true);
  fire(target.rect, 'click');
  fire(document.getElementById('reset'), 'click');
  expect('boxes hidden after reset', hidden(), 0);

  // Ctrl-F opens the search; the share counts nested matches once.
  key('f', true);
  expect('the search field', classOf('search-field'), '');
  expect('the focus', document.activeElement.id, 'search-input');
  type('load_config|parse_line|copy_token');
  var share = 100 * box('load_config').value / boxes[0].value;
  expect('the matched share', document.getElementById('matched').textContent, 'Matched: ' + share.toFixed(1) + ' %');
  type('PARSE_line');
  expect('any case', document.querySelectorAll('#boxes g.match').length, 1);
  type('a[');
  expect('a wrong expression', document.querySelectorAll('#boxes g.match').length, 0);
  type('List<Pair');
  expect('a C++ name', document.querySelectorAll('#boxes g.match').length, 1);
  key('Escape');
  expect('the search after Escape', classOf('search-field'), 'hidden');
  expect('matches after Escape', document.querySelectorAll('#boxes g.match').length, 0);

  // Details on pointing.
  fire(box('main').rect, 'mouseover');
  expect('details', document.getElementById('details').textContent.indexOf('main (golden): ') === 0, true);

  document.documentElement.setAttribute('data-test', wrong.length ? wrong.join('; ') : 'good');
});
