#!/usr/bin/env python3
"""The harness's report in a real Chromium, opened from a file.

    test_report.py LOADTEST [Report.test_NAME]...

A run, a bell, a sweep, a matrix of faults, a file of before and a comparison, in both languages, both themes and on a phone:
nothing is fetched, the console stays empty, names stay text, no text of a picture leaves it or stands on another, figures stand
where they belong, and the colours can be told apart by readers who do not see all of them. Verdicts and tables need no script.
"""
import itertools
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import results
from browser import Browser, wait_for

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
        kinds = {"run": results.run(), "bell": results.bell(), "sweep": results.sweep(), "old": results.old(), "unpaid": results.unpaid(),
                 "drawn": results.drawn()}
        cls.pages = {}
        for name, runs in kinds.items():
            results.write(f"{cls.folder}/{name}", runs)
            cls.pages[name] = cls.make(f"{cls.folder}/{name}")
        results.write(f"{cls.folder}/again", results.run()[:-4], stock=200, rate_per_s=5)
        results.write_faults(f"{cls.folder}/matrix")
        subprocess.run([PROGRAM, "faults", "--join", f"{cls.folder}/matrix", "--out", f"{cls.folder}/faults"], stdout=subprocess.DEVNULL,
                       check=False)
        cls.pages["faults"] = f"{cls.folder}/faults/report.html"
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
        browser.driver.get(pathlib.Path(self.pages[name]).resolve().as_uri())
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

    def test_a_page_begins_with_what_it_found(self):
        for name, sentence in (
                ("run", "pessimistic sold 101 of 100 and broke its promise. none sold 1,707 of 100. "),
                ("run", "redis-token kept a smaller promise"), ("sweep", "batch sells most with connections 1,000: "),
                ("sweep", "conditional sells most with connections 1,000: "), ("old", "conditional kept its promise. ")):
            with self.subTest(name=name, sentence=sentence):
                self.assertIn(sentence, self.open(name).find(".banner").text + " ")

    def test_files_come_out_again(self):
        """A page that is passed on has its files in it."""
        shutil.copy(f"{self.folder}/run/results.json", f"{self.folder}/run/results.csv") # any text
        self.make(f"{self.folder}/run")
        browser = self.open("run")
        browser.cdp("Browser.setDownloadBehavior", behavior="allow", downloadPath=f"{self.folder}/out")
        for name in ("results.csv", "results.json"):
            browser.find(f"a[download='{name}']").click()
            out = pathlib.Path(self.folder, "out", name)
            wait_for(name, out.exists)
            runs = [json.loads(pathlib.Path(folder, name).read_text("utf-8"))["runs"] for folder in (f"{self.folder}/run", out.parent)]
            self.assertEqual(*([(its["strategy"], its["verdict"]) for its in each] for each in runs))
        self.assertNotIn(self.folder, pathlib.Path(self.pages["compared"]).read_text("utf-8"))
        names = self.open("compared").run("return [...document.querySelectorAll('th')].map(name => name.innerText)")
        self.assertIn("again", names)

    def test_the_verdict_is_there_on_paper_and_on_a_phone(self):
        seen = "return document.querySelector('td.verdict').getBoundingClientRect().right <= document.documentElement.clientWidth"
        browser = self.open("old", width=375)
        self.assertTrue(browser.run(seen))
        browser.cdp("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
        try:
            self.assertTrue(browser.run(seen))
            self.assertEqual(browser.run("return getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)")
            self.assertEqual(browser.run("return [...document.querySelectorAll('button')].filter(it => it.offsetWidth > 0).length"), 0)
        finally:
            browser.cdp("Emulation.setEmulatedMedia", media="")

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
        self.assertEqual(rows[1].split(), "conditional kept 3 400 160 110 130 90210 48 118 0 0".split())
        self.assertIn("oversold 3 & <b>", rows[3])
        self.assertIn("bad", browser.find(".banner").get_attribute("class"))

    def test_what_differs_is_said(self):
        text = self.open("compared").run("return document.querySelector('main').innerText")
        self.assertIn("What was not the same", text)
        self.assertIn("stock\t100\t200", text)
        self.assertIn("rate_per_s\t\t5", text)
        self.assertNotIn("body\t", text)

    def drawn(self, selector, attribute, within="svg"):
        """Of the page "drawn": an attribute of what is found in its first such picture."""
        return self.browser.run("return [...document.querySelector(arguments[0]).querySelectorAll(arguments[1])]"
                                ".map(each => arguments[2] ? each.getAttribute(arguments[2]) : each.textContent)", within, selector, attribute)

    def picture(self, title):
        """Its number among the page's."""
        self.browser.run("for (const svg of document.querySelectorAll('svg')) svg.id = svg.querySelector('title')?.textContent.split(' · ')[0]"
                         ".replace(/[ ,]/g, '-')")
        return "#" + title.replace(" ", "-").replace(",", "-")

    def test_a_bar_ends_at_the_median(self):
        """The plot is 430 wide from 178 on, here to 20000; the whisker goes from the least to the most."""
        self.open("drawn")
        rates = self.picture("Committed orders a second")
        texts = self.drawn("text", None, rates)
        self.assertEqual(texts[:11], [str(2000 * tick) for tick in range(11)])
        self.assertEqual(self.drawn("rect", "width", rates)[0], "215.0")
        self.assertIn("4.3", self.drawn("rect", "width", rates)) # 200
        whiskers = [path for path in self.drawn("path", "d", rates) if "v6" in path]
        self.assertEqual(whiskers, ["M199.5 32.0H608.0M199.5 29.0v6M608.0 29.0v6"]) # 1000 to 20000; one round has none

    def test_a_range_needs_no_maximum(self):
        """A line that has p50 and p99 alone: from 1 to 100 ms over the plot of two decades."""
        self.open("drawn")
        latency = self.picture("Latency in milliseconds")
        self.assertEqual(self.drawn("circle", "cx", latency), ["178.0"])
        self.assertIn("M178.0 32.0H608.0", self.drawn("path", "d", latency))
        self.assertIn("1.0 · 100.0", self.drawn("text", None, latency))

    def test_a_curve_has_the_percentiles(self):
        """Of 1000 answers 900 took 1 ms, 90 2 ms, 9 10 ms, one 70 ms, which is the last, at the share of all but one."""
        self.open("drawn")
        paths = self.drawn("path", "d", self.picture("Percentiles of the latency in milliseconds"))
        self.assertIn("M34.0 139.3L79.5 139.3L125.0 119.8L170.5 74.3L170.5 20.1", paths)

    def test_bars_hold_every_answer(self):
        self.open("drawn")
        bars = next(path for path in self.drawn("path", "d", self.picture("How many took how long, in milliseconds")) if path.endswith("Z"))
        bottom = 48
        heights = [bottom - float(place) for place in re.findall(r"V([0-9.]+)H", bars)][:-1]
        self.assertEqual(max(heights), 29)
        self.assertAlmostEqual(sum(heights) * 900 / 29, 1000, delta=10)
        begin, end = re.search(r"H([0-9.]+)V19.0H([0-9.]+)", bars).groups()
        self.assertAlmostEqual(float(end) - float(begin), 304 / 2 * math.log10(1.024), delta=0.2) # it holds 0.896 to 1.024 ms

    def test_time_goes_from_left_to_right(self):
        """30 a second is the top, 22; nothing the bottom, 150; two seconds are 624 wide."""
        self.open("drawn")
        timeline = self.picture("Offered, answered and latency over time")
        self.assertIn("M46 150L46.0 150.0H358.0L358.0 22.0H670.0", self.drawn("path", "d", timeline))
        texts = self.drawn("text", None, timeline)
        self.assertIn(results.HTML_NAME, texts)
        self.assertFalse([text for text in texts if "committed" in text])

    def ends(self, runs, name, title):
        """The texts beside the first axis of a page's pictures of that title."""
        results.write(f"{self.folder}/{name}", runs)
        self.pages[name] = self.make(f"{self.folder}/{name}")
        self.open(name)
        del self.pages[name]
        return self.browser.run("""return [...document.querySelectorAll('svg')].filter(svg => svg.textContent.startsWith(arguments[0]))
            .map(svg => [...svg.querySelectorAll('text')].filter(text => text.getAttribute('y') < 155).map(text => text.textContent))""", title)

    def test_a_linear_axis_has_round_ticks(self):
        tops = {"6": 60, "6 ": 52, "1800": 17300, "45": 430, "0.7": 7, "1": 0}
        for (top, count), texts in zip(tops.items(), self.ends(results.timelines(*tops.values()), "linear", "Offered")):
            ticks = [text for text in texts if text[0].isdigit()]
            self.assertEqual((ticks[0], ticks[-1]), ("0", top.strip()), count)
            self.assertIn(len(ticks), range(4, 13))

    def test_a_log_axis_is_never_empty(self):
        """One value, a power of ten, nothing at all: there is a decade all the same, with equal distances and round figures."""
        for name, ms, ticks in (("nothing", 0, ["1", "2", "5", "10"]), ("one", 1, ["1", "2", "5", "10"]),
                                ("ten", 10, ["10", "20", "50", "100"]), ("little", 0.05, ["0.01", "0.02", "0.05", "0.1"])):
            run = results.speed("a", 10, latency_us={"p50": ms * 1000, "p99": ms * 1000})
            self.assertEqual(self.ends([run], f"log-{name}", "Latency")[0][:4], ticks)

    def test_verdicts_and_tables_need_no_script(self):
        browser = self.open("run")
        browser.cdp("Emulation.setScriptExecutionDisabled", value=True)
        try:
            browser.driver.refresh()
            text = browser.find("main").text
        finally:
            browser.cdp("Emulation.setScriptExecutionDisabled", value=False)
        self.assertIn("BROKEN", text)
        self.assertIn("1707 / 100", text)
        self.assertIn(results.HTML_NAME, text)
        self.assertNotIn("Machine and settings", text)

    def test_a_page_may_load_nothing(self):
        browser = self.open("run")
        browser.run("document.addEventListener('securitypolicyviolation', event => { window.refused = event.violatedDirective; });"
                    "document.body.append(Object.assign(new Image(), {src: 'http://127.0.0.1:9/x.png'}));")
        wait_for("the refusal", lambda: browser.run("return window.refused"))
        browser.driver.get_log("browser")

    def test_a_matrix_shows_its_cells(self):
        browser = self.open("faults")
        text = browser.run("return document.querySelector('main').innerText")
        self.assertIn("conditional\t0/3 held\nredis-fenced\t1/3 CONTRADICTED\nredis-token\t3/3 red *\n", text)
        banners = browser.run("return [...document.querySelectorAll('.banner')].map(banner => [banner.className, banner.innerText])")
        self.assertEqual([name for name, _ in banners], ["banner safe", "banner bad", "banner care"])
        self.assertIn("CONTRADICTED · red in 1 of 3", banners[1][1])
        self.assertIn("longest time without a sale 1.25 s · first sale after healing 0.02 s", text)
        self.assertIn("first sale after healing –", text)
        self.assertIn(f"seed 5: 2 holds & <b>\norder 7 {results.HTML_NAME}", text)
        self.assertIn("most in a second: 80", text)
        shade, *bars = browser.run("return [...document.querySelector('main svg').querySelectorAll('rect')].map(rect => "
                                   "['x', 'width', 'height'].map(name => rect.getAttribute(name)))")
        self.assertEqual(shade, ["18.0", "36.0", "70"])
        self.assertEqual(bars[:2], [["0", "5", "35.0"], ["6", "5", "70.0"]])

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
