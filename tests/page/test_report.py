#!/usr/bin/env python3
"""The harness's report in a real Chromium, opened from a file.

    test_report.py LOADTEST [Report.test_NAME]...

A run, a bell, a sweep, a file of before and a comparison, in both languages, both themes and on a phone: nothing is fetched,
the console stays empty, names stay text, no text of a picture leaves it or stands on another, and the colours can be told
apart by readers who do not see all of them.
"""
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import results
from browser import Browser

PROGRAM = sys.argv[1]
# Pairs of colours that stand beside each other in one chart.
APART = [["safe", "care", "bad"], ["committed", "accepted", "refused", "failed", "offered"]]
# How much two colours must differ (CIE 1976) for all readers; a just noticeable difference is 2.3.
DIFFERENCE = 14
# Machado, Oliveira and Fernandes 2009, at full severity, in linear RGB.
EYES = {"all": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
        "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
        "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]}
# Texts of a picture that leave it, and pairs of which one covers the other.
CROWDED = """
const bad = [];
for (const svg of document.querySelectorAll('main svg')) {
  const frame = svg.getBoundingClientRect();
  const boxes = [...svg.querySelectorAll('text')].map(text => [text.textContent, text.getBoundingClientRect()])
    .filter(([, box]) => box.width > 0);
  boxes.forEach(([text, box], i) => {
    if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
      bad.push('leaves its picture: ' + text);
    for (const [other, its] of boxes.slice(i + 1)) {
      const wide = Math.min(box.right, its.right) - Math.max(box.left, its.left);
      const high = Math.min(box.bottom, its.bottom) - Math.max(box.top, its.top);
      if (wide > 1 && high > 0.35 * Math.min(box.height, its.height)) bad.push(text + ' and ' + other);
    }
  });
}
return bad;
"""


def linear(text):
    """'#1a2b3c' as light."""
    parts = [int(text[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def lab(light):
    red, green, blue = (min(max(part, 0), 1) for part in light)
    x, y, z = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505, 0.2126 * red + 0.7152 * green + 0.0722 * blue, \
        (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089
    x, y, z = (part ** (1 / 3) if part > 0.008856 else 7.787 * part + 16 / 116 for part in (x, y, z))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def seen(colour, eyes):
    return lab([sum(a * b for a, b in zip(row, linear(colour))) for row in EYES[eyes]])


def difference(one, other, eyes):
    return sum((a - b) ** 2 for a, b in zip(seen(one, eyes), seen(other, eyes))) ** 0.5


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="seckill-report.")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        kinds = {"run": results.run(), "bell": results.bell(), "sweep": results.sweep(), "old": results.old(), "unpaid": results.unpaid()}
        cls.pages = {}
        for name, runs in kinds.items():
            results.write(f"{cls.folder}/{name}", runs)
            cls.pages[name] = cls.make(f"{cls.folder}/{name}")
        results.write(f"{cls.folder}/again", results.run()[:-4], stock=200)
        cls.pages["compared"] = cls.make(f"{cls.folder}/run", f"{cls.folder}/again", "--out", f"{cls.folder}/compared")
        cls.browser = Browser(log_network=True)
        cls.addClassCleanup(cls.browser.quit)

    @staticmethod
    def make(*arguments):
        """Where the page is."""
        made = subprocess.run([PROGRAM, "report", *arguments], stdout=subprocess.PIPE, check=True, encoding="utf-8")
        return made.stdout.strip()

    def open(self, name, language="en", theme="light", width=1200):
        browser = self.browser
        browser.media(prefers_color_scheme=theme)
        browser.cdp("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600)
        browser.driver.get("about:blank")
        browser.requests()
        browser.driver.get(pathlib.Path(self.pages[name]).as_uri())
        if browser.run("return document.documentElement.dataset.lang") != language:
            browser.find("#language").click()
        return browser

    def look(self, browser):
        self.assertEqual(browser.driver.get_log("browser"), [])
        self.assertEqual([url for url in browser.requests() if not url.startswith("file:") or not url.endswith("report.html")], [])
        self.assertEqual(browser.run(CROWDED), [])
        self.assertIsNone(browser.run("return window.hit || null"))
        wide = browser.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
        self.assertLessEqual(wide, 0)

    def test_every_page_in_every_dress(self):
        for name, language, theme, width in itertools.product(self.pages, ("en", "zh"), ("light", "dark"), (1200, 390)):
            with self.subTest(name=name, language=language, theme=theme, width=width):
                self.look(self.open(name, language, theme, width))

    def test_each_language_is_alone(self):
        for language, shown, hidden in (("en", "Committed orders a second", "每秒落库的订单"), ("zh", "每秒落库的订单", "Committed orders a second")):
            text = self.open("run", language).run("return document.querySelector('main').innerText")
            self.assertIn(shown, text)
            self.assertNotIn(hidden, text)
            self.assertEqual(self.browser.run("return document.documentElement.lang"), language)

    def test_the_theme_has_a_button(self):
        browser = self.open("run", theme="light")
        ground = "return getComputedStyle(document.body).backgroundColor"
        light = browser.run(ground)
        browser.find("#theme").click()
        self.assertNotEqual(browser.run(ground), light)
        browser.find("#theme").click()
        self.assertEqual(browser.run(ground), light)

    def test_each_kind_shows_what_it_has(self):
        counts = {name: [self.open(name).run(f"return document.querySelectorAll('main {part}').length")
                         for part in (".banner", "svg", ".panels", "figure.scroll")] for name in self.pages}
        self.assertEqual(counts["old"], [1, 2, 0, 0])
        self.assertEqual(counts["bell"], [1, 5, 2, 1])
        self.assertEqual(counts["sweep"], [1, 6, 3, 0])
        self.assertEqual(counts["unpaid"], [1, 4, 0, 0])
        self.assertEqual(counts["run"][::2], [1, 2])
        self.assertEqual(counts["compared"][0], 2)
        self.assertIn("bad", self.open("run").find(".banner").get_attribute("class"))
        for href, name in (("results.csv", "run"), ("sweep.csv", "sweep"), ("arrivals.csv", "bell")):
            self.assertIsNotNone(self.open(name).find(f"a[href='{href}']"))

    def test_a_column_stands_where_its_name_does(self):
        askew = """
        const side = cell => getComputedStyle(cell).textAlign;
        return [...document.querySelectorAll('main table')].filter(table => !table.querySelector('th[colspan]')).flatMap(table => {
          const names = [...table.rows[0].cells];
          return [...table.rows].slice(1).filter(row => row.cells.length === names.length).flatMap(row =>
            names.filter((name, i) => name.innerText && side(name) !== side(row.cells[i])).map(name => name.innerText));
        });"""
        for name in ("run", "bell", "sweep", "unpaid"):
            with self.subTest(name=name):
                self.assertEqual(self.open(name).run(askew), [])

    def test_what_was_not_paid_is_said(self):
        browser = self.open("unpaid")
        rows = browser.run("return [...document.querySelectorAll('table:first-of-type tr')].map(row => row.innerText)")
        self.assertEqual(rows[1].split(), "conditional 3 kept 400 160 110 130 90210 48 118 0 0".split())
        self.assertIn("oversold 3 & <b>", rows[3])
        self.assertIn("bad", browser.find(".banner").get_attribute("class"))

    def test_what_differs_is_said(self):
        text = self.open("compared").run("return document.querySelector('main').innerText")
        self.assertIn("What was not the same", text)
        self.assertIn("stock\t100\t200", text)

    def test_colours_are_told_apart_by_all_readers(self):
        for theme in ("light", "dark"):
            browser = self.open("run", theme=theme)
            for group in APART:
                colours = {name: browser.run("return getComputedStyle(document.documentElement).getPropertyValue('--' + arguments[0]).trim()",
                                             name) for name in group}
                for (one, other), eyes in itertools.product(itertools.combinations(group, 2), EYES):
                    with self.subTest(theme=theme, eyes=eyes, one=one, other=other):
                        self.assertGreater(difference(colours[one], colours[other], eyes), DIFFERENCE)

    def test_what_is_no_result_is_named(self):
        broken = os.path.join(self.folder, "broken")
        os.makedirs(broken)
        for text, words in (('{"runs": [{}]}', "runs[0] has no strategy"), ("{", "line 1"), (json.dumps({"runs": []}), "no runs")):
            with open(os.path.join(broken, "results.json"), "w", encoding="utf-8") as out:
                out.write(text)
            for more in ([], [f"{self.folder}/run"]):
                said = subprocess.run([PROGRAM, "report", broken, *more], stderr=subprocess.PIPE, encoding="utf-8", check=False)
                self.assertEqual(said.returncode, 2)
                self.assertIn(words, said.stderr)
                self.assertIn("broken/results.json", said.stderr)
            self.assertFalse(os.path.exists(os.path.join(broken, "report.html")))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
