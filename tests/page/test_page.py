#!/usr/bin/env python3
"""The live page in a real Chromium, against a real server.

    test_page.py SERVER [Page.test_NAME]...

Buying, paying, cancelling, refusals, the race, a holder that is stopped in it, the admin's calls, both languages, a phone's width,
the keyboard alone, blocked site data, a path prefix, a server that stands still, names that are HTML, and at the end of each a
console without an error.
"""
import os
import re
import signal
import sys
import time
import unittest

from browser import TOKEN, Browser, Server, below_a_prefix, wait_for
from selenium.webdriver.common.keys import Keys

PROGRAM = sys.argv[1]
ALL_S = 850
NOTICED_S = 8 # three, and what a busy machine takes
TARGET_PX, PHONE_PX = 44, 375
SEVERAL_POLLS_S = 3 # page.js's pollMs is one second
RACES = 5
HTML_NAME = '<img src=x onerror="window.hit=1"><script>window.hit=1</script>&amp;'


def give_up(*_):
    raise TimeoutError(f"longer than {ALL_S} s")


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(PROGRAM, "--admin-token", TOKEN)
        cls.addClassCleanup(cls.server.stop)
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.quit)

    def setUp(self):
        self.refusals = 0
        self.server.ask("PUT", "/products/1", {"stock": 10, "name": "first"})
        self.open(f"#token={TOKEN}")

    def tearDown(self):
        self.browser.run("sessionStorage.clear()")
        self.browser.driver.get("about:blank")  # no page outlives the server that it polls
        # Chromium itself writes down every answer of 4xx: that is what a refusal is.
        logged = [entry for entry in self.browser.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
        refused = [entry for entry in logged if entry["source"] == "network" and re.search("/orders|/products/90000|/events", entry["message"])]
        self.assertEqual([entry for entry in logged if entry not in refused], [])
        if not self.refusals:
            self.assertEqual(refused, [])

    def open(self, behind="", server=None):
        self.browser.driver.get("about:blank")
        self.browser.driver.get(f"{getattr(server or self.server, 'url', server)}/{behind}")
        self.browser.wait_text("[data-product='1'] h3", "first")
        wait_for("the strategies", lambda: self.browser.run("return document.querySelector('#strategy').value"))

    def stock(self, product=1):
        return self.server.ask("GET", f"/products/{product}")["stock"]

    def test_how_a_strategy_breaks(self):
        browser = self.browser
        browser.run("const s = document.querySelector('#strategy'); s.value = 'none'; s.dispatchEvent(new Event('change'))")
        self.assertEqual(browser.run("return document.querySelectorAll('#zoo table').length"), 0)
        browser.find("#why summary").click()
        browser.wait_text("#zoo h3", "Two read the same figure")
        browser.wait_text("#zoo .verdict.trouble", "The rows say: 2 sold of 1, 0 left")
        browser.wait_text("#zoo .verdict.safe", "The rows say: 1 sold of 1, 0 left")
        self.assertEqual(browser.run("return document.querySelectorAll('#zoo table').length"), 2)
        browser.find("#language").click()
        browser.wait_text("#zoo h3", "两个人读到同一个数")
        browser.wait_text("#zoo .verdict.trouble", "卖出 2，库存原有 1，剩 0")
        self.assertIn("不保护：读、判断、写回", browser.text("#promise"))
        browser.find("#language").click()
        browser.wait_text("#zoo h3", "Two read the same figure")
        browser.run("const s = document.querySelector('#strategy'); s.value = 'local-lock'; s.dispatchEvent(new Event('change'))")
        browser.wait_text("#zoo h3", "Each instance has a lock of its own")
        browser.run("const s = document.querySelector('#strategy'); s.value = 'zookeeper-lock'; s.dispatchEvent(new Event('change'))")
        browser.wait_text("#zoo", "No run of it is recorded.")
        browser.run("const s = document.querySelector('#strategy'); s.value = 'conditional'; s.dispatchEvent(new Event('change'))")
        self.assertTrue(browser.run("return document.querySelector('#why').hidden"))

    def test_what_a_reader_is_told_is_there_in_chinese(self):
        told = {strategy["name"]: strategy["summary_zh"] for strategy in self.server.ask("GET", "/strategies")}
        for name, exhibit in self.server.ask("GET", "/zoo").items():
            told[f"{name}: title"] = exhibit["title_zh"]
            for act in (exhibit["unsafe"], exhibit["safe"]):
                told[f"{name}: story of {act['strategy']}"] = act["story_zh"]
                told[f"{name}: verdict of {act['strategy']}"] = act["verdict_zh"]
                told.update((f"{name}: {words}", chinese) for _, *lines in act["rows"] for kind, words, chinese in lines if kind == "n")
        self.assertEqual([what for what, words in told.items() if not re.search("[\u4e00-\u9fff]", words or "")], [])

    def test_buy_and_cancel(self):
        browser = self.browser
        browser.find("[data-product='1'] button").click()
        browser.wait_text("#answer .tag", "201")
        for shown in ("POST /orders?strategy=conditional", "Lane", "Lock", "Work", '"status": "confirmed"'):
            self.assertIn(shown, browser.text("#answer"))
        self.assertEqual(self.stock(), 9)
        browser.wait_text("[data-product='1'] .tag", "9 of 10 left")
        browser.wait_text("#orders li:first-child .tag", "confirmed")
        browser.find("#orders li:first-child button").click()
        browser.wait_text("#orders li:first-child .tag", "cancelled")
        self.assertEqual(self.stock(), 10)
        browser.wait_text("[data-product='1'] .tag", "10 of 10 left")

    def test_buy_and_pay(self):
        browser = self.browser
        self.assertFalse(any(button.is_displayed() for button in browser.driver.find_elements("css selector", "#orders .act:not(span)")))
        browser.type("#hold", "3600")
        browser.find("[data-product='1'] button").click()
        browser.wait_text("#answer .tag", "201")
        browser.wait_text("#orders li:first-child .tag", "to pay 00:59:")
        seen = browser.text("#orders li:first-child .tag")
        wait_for("the next second", lambda: browser.text("#orders li:first-child .tag") != seen)
        self.assertEqual(self.stock(), 9)
        browser.find("#orders li:first-child button.act").click()
        browser.wait_text("#orders li:first-child .tag", "confirmed")
        self.assertFalse(browser.find("#orders li:first-child button.act").is_displayed())
        self.assertEqual(self.stock(), 9)

    def test_what_is_not_paid_expires(self):
        browser = self.browser
        browser.find("#admin summary").click()
        browser.type("#a-product", "8")
        browser.type("#a-stock", "4")
        browser.type("#a-hold", "1")
        browser.find("#a-put").click()
        browser.wait_text("[data-product='8'] .tag", "4 of 4 left")
        browser.find("[data-product='8'] button").click()
        browser.wait_text("#orders li:first-child .tag", "expired")
        browser.wait_text("[data-product='8'] .tag", "4 of 4 left")
        self.assertFalse(any(browser.find(f"#orders li:first-child button.{kind}").is_displayed() for kind in ("act", "quiet")))

    def test_a_refusal_is_shown_with_its_code(self):
        self.refusals = 1
        self.server.ask("PUT", "/products/2", {"stock": 0, "name": "gone"})
        self.browser.wait_text("[data-product='2'] .tag", "Sold out")
        self.browser.find("[data-product='2'] button").click()
        self.browser.wait_text("#answer .tag", "409")
        self.assertIn("sold_out", self.browser.text("#answer .figures"))

    def test_it_is_told_what_changes_and_asks_for_nothing(self):
        polls = ("return performance.getEntriesByType('resource')"
                 ".filter((entry) => entry.name.includes('/products?')).length")

        def asks_for_nothing():
            wait_for("the events", lambda: self.server.metric("seckill_http_listeners") >= 1)
            for stock in (7, 6, 5): # the first may still be a poll's
                self.server.ask("PUT", "/products/1", {"stock": stock, "name": "first"})
                self.browser.wait_text("[data-product='1'] .tag", f"{stock} of {stock} left")
                if stock == 7:
                    before = self.browser.run(polls)
            time.sleep(SEVERAL_POLLS_S) # that nothing comes has to be waited for
            return self.browser.run(polls) == before

        # A server that stands still for a second ends the events, and is asked until they are there again.
        wait_for("a while without polls", asks_for_nothing)

    def hold_lists(self, of):
        """The next such list comes after window.go(); window.held: it is there, window.came: it has come."""
        self.browser.run("""
            const [of] = arguments, ask = window.fetch, go = new Promise((resolve) => { window.go = resolve; });
            window.fetch = async (url, options) => {
              const late = window.held === undefined && String(url).includes(of);
              if (!late)
                return ask(url, options);
              window.held = false;
              const reply = await ask(url, options), text = await reply.text();
              window.held = true;
              await go;
              return { status: reply.status, headers: reply.headers, text: async () => { setTimeout(() => { window.came = true; }); return text; } };
            };""", of)

    def test_a_list_that_comes_late_takes_nothing_back(self):
        browser = self.browser
        wait_for("the events", lambda: self.server.metric("seckill_http_listeners") >= 1)
        self.hold_lists("/products?")
        browser.find("[data-product='1'] button").click()
        wait_for("a list", lambda: browser.run("return window.held"))
        self.server.ask("PUT", "/products/9", {"stock": 4})
        browser.wait_text("[data-product='9'] .tag", "4 of 4 left")
        browser.run("document.querySelector(\"[data-product='9']\").dataset.kept = true; window.go()")
        wait_for("the list to come", lambda: browser.run("return window.came"))
        self.assertTrue(browser.run("return document.querySelector(\"[data-product='9']\")?.dataset.kept"))

    def test_an_old_list_of_orders_takes_nothing_back(self):
        browser = self.browser
        self.hold_lists("/orders?user_id")
        browser.run("const user = document.querySelector('#user'); user.value = '77'; user.dispatchEvent(new Event('change'))")
        wait_for("a list", lambda: browser.run("return window.held"))
        browser.find("[data-product='1'] button").click()
        browser.wait_text("#orders li:first-child .tag", "confirmed")
        browser.run("document.querySelector('#orders li').dataset.kept = true; window.go()")
        wait_for("the list to come", lambda: browser.run("return window.came"))
        self.assertTrue(browser.run("return document.querySelector('#orders li')?.dataset.kept"))

    def test_it_polls_where_it_may_not_listen(self):
        self.refusals = 1
        server = Server(PROGRAM, "--admin-token", TOKEN, "--max-connections", "16")
        self.addCleanup(server.stop)
        server.ask("PUT", "/products/1", {"stock": 10, "name": "first"})
        listeners = [server.listen() for _ in range(4)]
        self.open(f"#token={TOKEN}", server)
        server.ask("PUT", "/products/1", {"stock": 4, "name": "first"})
        self.browser.wait_text("[data-product='1'] .tag", "4 of 4 left")
        self.assertEqual(server.metric("seckill_http_listeners"), 4)
        for listener in listeners:
            listener.close()

    def test_it_counts_down(self):
        self.server.ask("PUT", "/products/3", {"stock": 1, "opens_at": "2999-01-01T00:00:00Z"})
        self.browser.wait_text("[data-product='3'] .tag", "Opens in")
        seen = self.browser.text("[data-product='3'] .tag")
        self.assertRegex(seen, r"^Opens in \d+ d \d\d:\d\d:\d\d$")
        wait_for("the next second", lambda: self.browser.text("[data-product='3'] .tag") != seen)
        self.browser.find("#language").click()
        self.assertRegex(self.browser.text("[data-product='3'] .tag"), r"^\d+ 天 \d\d:\d\d:\d\d 后开售$")

    def test_what_nothing_protects_is_oversold_in_the_race(self):
        self.refusals = 1
        browser = self.browser
        browser.type("#race-seconds", "1")
        browser.find("#race-start").click()
        wait_for("the end of the race",
                 lambda: browser.run("return !document.querySelector('#race-start').disabled"))
        verdicts = [browser.find(f"[data-lane='{i}'] .verdict") for i in range(2)]
        self.assertEqual([verdict.get_attribute("class") for verdict in verdicts], ["verdict oversold", "verdict safe"])
        audits = [self.server.ask("GET", f"/products/{900001 + i}/audit") for i in range(2)]
        self.assertGreater(audits[0]["oversold"], 0)
        self.assertEqual(verdicts[0].text, f"OVERSOLD by {audits[0]['oversold']}: sold {audits[0]['sold']}, there were 20")
        self.assertEqual(verdicts[1].text, "Kept: sold 20 of 20")
        figures = [browser.find(f"[data-lane='{i}'] .figures").text.split()[-1] for i in range(2)]
        self.assertEqual(figures, ["0", "0"], "failed")
        self.assertIn("rgb", verdicts[0].value_of_css_property("background-color"))
        self.assertEqual([browser.run("return document.querySelectorAll(`[data-lane='${arguments[0]}'] .bar i`)[1].style.width", i)
                          != "0%" for i in range(2)], [True, False])

    def race(self, begin):
        begin()
        wait_for("the end of the race", lambda: self.browser.run("const start = document.querySelector('#race-start');"
                                                                 " return !start.disabled && document.querySelector('#race-link').href"))
        return [self.browser.find(f"[data-lane='{i}'] .verdict").get_attribute("class") for i in range(2)]

    def test_a_holder_is_stopped_in_the_race(self):
        self.refusals = 1
        browser = self.browser
        self.assertFalse(browser.find("#race-stop").is_displayed(), "a server without --stall-ms")
        server = Server(PROGRAM, "--admin-token", TOKEN, "--redis", os.environ["SECKILL_TEST_REDIS"], "--stall-ms", "2000",
                        "--lock-ttl-ms", "6000", "--work-timeout-ms", "5900", "--lock-wait-ms", "30000")
        self.addCleanup(server.stop)
        self.open(f"#token={TOKEN}", server)
        browser.type("#race-buyers", "30")
        browser.type("#race-seconds", "1")
        self.tab_to("race-stop")
        seen = self.race(lambda: self.press(Keys.ENTER))
        for _ in range(RACES): # whoever stood still for longer than the one that is stopped has not met him
            if seen == ["verdict oversold", "verdict safe"] and browser.text("[data-lane='1'] .tag") == "1 × 503 lease_lost":
                break
            seen = self.race(browser.find("#race-start").click)
        self.assertEqual(seen, ["verdict oversold", "verdict safe"])
        self.assertEqual(browser.text("#race-replaced"),
                         "Neither none nor conditional is a lock in Redis or elsewhere: redis-token and redis-fenced race in their place.")
        browser.find("#language").click()
        browser.wait_text("#race-replaced", "none 和 conditional 都不是 Redis 或其他存储里的锁")
        browser.find("#language").click()
        self.assertEqual(browser.find("[data-lane='1'] .tag").text, "1 × 503 lease_lost")
        self.assertGreater(server.ask("GET", "/products/900001/audit")["oversold"], 0)
        self.assertEqual([browser.find(f"[data-lane='{i}']").get_attribute("aria-label") for i in range(2)],
                         ["Lane 1: redis-token", "Lane 2: redis-fenced"])
        browser.wait_text("#race-zoo h3", "A paused holder still writes")
        self.assertTrue(browser.find("#race-zoo table").is_displayed())
        link = browser.find("#race-link").get_attribute("href")
        self.assertEqual(link, f"{server.url}/#race=redis-token,redis-fenced,20,30,1,stop")
        browser.cdp("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
        browser.find("#race-copy").click()
        browser.wait_text("#race-copy", "Copied")
        copied = browser.driver.execute_async_script(
            "const done = arguments[0]; navigator.clipboard.read().then(async ([item]) =>"
            " done([item.types.includes('image/png'), await (await item.getType('text/plain')).text()]))")
        self.assertTrue(copied[0])
        self.assertIn("redis-fenced: Kept: sold 20 of 20; 1 × 503 lease_lost", copied[1])
        self.assertIn(link, copied[1])
        # The link begins the same race, here another one without a stop.
        classes = self.race(lambda: self.open("#race=conditional,pessimistic,5,6,0", server))
        self.assertEqual(classes, ["verdict safe", "verdict safe"])
        self.assertFalse(browser.find("#race-replaced").is_displayed())
        self.assertEqual(browser.text("[data-lane='1'] .verdict"), "Kept: sold 5 of 5")

    def test_a_server_that_stands_still_is_noticed(self):
        server = Server(PROGRAM, "--admin-token", TOKEN)
        self.addCleanup(server.stop)
        self.open(f"#token={TOKEN}", server)
        wait_for("the events", lambda: server.metric("seckill_http_listeners") >= 1)
        server.process.send_signal(signal.SIGSTOP)
        begun = time.monotonic()
        try:
            self.browser.wait_text("#trouble", "does not answer")
        finally:
            server.process.send_signal(signal.SIGCONT)
        self.assertLess(time.monotonic() - begun, NOTICED_S)
        wait_for("the end of it", lambda: not self.browser.find("#trouble").is_displayed())

    def test_it_works_below_a_prefix(self):
        proxy, url = below_a_prefix(self.server)
        self.addCleanup(proxy.server_close)
        self.addCleanup(proxy.shutdown)
        self.open(f"#token={TOKEN}", url)
        self.browser.find("[data-product='1'] button").click()
        self.browser.wait_text("#answer .tag", "201")
        self.browser.wait_text("[data-product='1'] .tag", "9 of 10 left")
        self.assertEqual(self.browser.find("footer a").get_attribute("href"), f"{url}/strategies")
        location = self.browser.driver.execute_async_script(
            "fetch('orders', { method: 'POST', body: JSON.stringify({ product_id: 1, user_id: 5 }) }).then((reply) =>"
            " fetch(new URL(reply.headers.get('Location'), reply.url))).then((reply) => reply.json()).then(arguments[0])")
        self.assertEqual(location["user_id"], 5)

    def test_the_race_leaves_the_products_of_others_alone(self):
        self.server.ask("PUT", "/products/900001", {"stock": 7, "name": "somebody's"})
        self.refusals = 1
        self.browser.type("#race-buyers", "6")
        self.browser.type("#race-seconds", "0")
        self.browser.find("#race-start").click()
        self.browser.wait_text("[data-lane='0'] .verdict", "is not the race's own")
        wait_for("the end", lambda: self.browser.run("return !document.querySelector('#race-start').disabled"))
        self.assertEqual(self.stock(900001), 7)
        self.server.ask("PUT", "/products/900001", {"stock": 7, "name": "race: none"})

    def test_the_admin_sells_anew_restocks_changes_and_audits(self):
        browser = self.browser
        browser.find("#admin summary").click()
        browser.type("#a-product", "5")
        browser.type("#a-stock", "4")
        browser.type("#a-name", "of the admin")
        browser.find("#a-put").click()
        browser.wait_text("[data-product='5'] h3", "of the admin")
        browser.find("#a-restock").click()
        browser.wait_text("[data-product='5'] .tag", "8 of 4 left")
        browser.type("#a-name", "renamed")
        browser.find("#a-patch").click()
        browser.wait_text("[data-product='5'] h3", "renamed")
        browser.find("#a-audit").click()
        browser.wait_text("#a-answer .verdict", "Kept: sold 0 of 8")

    def test_the_token_stays_in_the_tab(self):
        self.assertEqual(self.browser.driver.current_url, f"{self.server.url}/")
        self.assertEqual(self.browser.run("return [sessionStorage.token, localStorage.length, document.cookie]"), [TOKEN, 0, ""])

    def test_without_the_token_it_leads_to_where_it_goes(self):
        self.refusals = 1
        self.browser.run("sessionStorage.clear()")
        self.open()
        self.assertFalse(self.browser.find("#race-token").is_displayed())
        self.browser.find("#race-start").click()
        self.browser.wait_text("[data-lane='0'] .verdict", "the admin token")
        wait_for("the end", lambda: self.browser.run("return !document.querySelector('#race-start').disabled"))
        self.browser.find("#language").click()
        self.assertEqual([self.browser.text(f"[data-lane='{i}'] .verdict") for i in range(2)], ["这个操作需要管理员令牌。"] * 2)
        self.browser.find("#language").click()
        self.browser.find("#race-token").click()
        self.assertEqual(self.browser.run("return document.activeElement.id"), "token")
        self.browser.run("document.activeElement.value = ''")

    def test_beside_a_server_without_a_token_none_is_needed(self):
        server = Server(PROGRAM)
        self.addCleanup(server.stop)
        self.open(server=server)
        self.browser.find("#admin summary").click()
        self.browser.find("#a-restock").click()
        self.browser.wait_text("#a-answer .tag", "200")
        self.browser.find("#a-audit").click()
        self.browser.wait_text("#a-answer .verdict", "Kept: sold 0 of 110")

    def test_names_that_are_html_are_text(self):
        self.server.ask("PUT", "/products/6", {"stock": 1, "name": HTML_NAME})
        wait_for("the name", lambda: self.browser.text("[data-product='6'] h3") == HTML_NAME)
        self.browser.find("[data-product='6'] button").click()
        self.browser.wait_text("#answer .tag", "201")
        self.assertEqual(self.browser.run("return [window.hit ?? null, document.querySelectorAll('main img, main script').length]"),
                         [None, 0])
        # The policy, if the page did not hold: nothing that is put in as HTML runs.
        self.browser.run("document.querySelector('#answer').innerHTML = arguments[0]", HTML_NAME)
        blocked = wait_for("what was refused", lambda: self.browser.driver.get_log("browser"))
        self.assertIn("Content Security Policy", " ".join(entry["message"] for entry in blocked))
        self.assertIsNone(self.browser.run("return window.hit ?? null"))

    def test_large_ids_keep_their_digits(self):
        large = 2**63 - 1
        self.server.ask("PUT", f"/products/{large}", {"stock": 1, "name": "large"})
        self.browser.type("#user", str(large - 1) + Keys.TAB)
        self.browser.wait_text(f"[data-product='{large}'] h3", "large")
        self.browser.find(f"[data-product='{large}'] button").click()
        self.browser.wait_text("#answer .tag", "201")
        self.browser.wait_text("#orders li", f"#{large} × 1")
        placed = self.server.ask("GET", f"/orders?user_id={large - 1}&limit=1000")["orders"]
        self.assertEqual([order["product_id"] for order in placed], [large])

    def test_both_languages(self):
        browser = self.browser
        self.assertEqual(browser.run("return document.documentElement.lang"), "en")
        english = self.texts()
        browser.find("#language").click()
        self.assertEqual(browser.run("return document.documentElement.lang"), "zh-CN")
        chinese = self.texts()
        self.assertEqual([name for name in english if english[name] == chinese[name]], [])
        self.assertEqual([name for name, text in chinese.items() if not re.search("[\u4e00-\u9fff]", text)], [])
        self.assertEqual(browser.text("[data-product='1'] button"), "购买")
        self.open()
        self.assertEqual(browser.text("#race-start"), "开始对比", "the choice is kept")
        # Without a choice it is the browser's.
        browser.run("sessionStorage.clear()")
        agent = browser.run("return navigator.userAgent")
        browser.cdp("Network.setUserAgentOverride", userAgent=agent, acceptLanguage="zh-CN")
        self.open()
        self.assertEqual(browser.text("#language"), "English")
        browser.run("sessionStorage.clear()")
        browser.cdp("Network.setUserAgentOverride", userAgent=agent, acceptLanguage="en-US")

    def texts(self):
        return self.browser.run("return Object.fromEntries(Array.from(document.querySelectorAll('[data-t]'),"
                                " (element) => [element.dataset.t, element.textContent]))")

    def test_it_fits_a_phone_in_both_languages_and_themes(self):
        browser = self.browser
        self.server.ask("PUT", "/products/7", {"stock": 1, "name": "long" * 50})
        browser.wait_text("[data-product='7'] h3", "long")
        browser.cdp("Emulation.setDeviceMetricsOverride", width=PHONE_PX, height=812, deviceScaleFactor=2, mobile=True)
        grounds = []
        for theme in ("light", "dark"):
            browser.media(prefers_color_scheme=theme)
            grounds.append(browser.find("body").value_of_css_property("background-color"))
            browser.run("document.querySelector('#admin').open = true")
            self.assertEqual(browser.run("return [innerWidth, document.documentElement.scrollWidth]"), [PHONE_PX, PHONE_PX], theme)
            self.assertEqual(browser.run("return Array.from(document.querySelectorAll('button, input, select, summary, a'))"
                                         ".filter((at) => at.checkVisibility() && Math.min(at.getBoundingClientRect().width,"
                                         " at.getBoundingClientRect().height) < arguments[0])"
                                         ".map((at) => at.id || at.textContent)", TARGET_PX), [])
            browser.find("#language").click()
        self.assertNotEqual(*grounds)
        browser.cdp("Emulation.clearDeviceMetricsOverride")
        browser.media()

    def test_the_keyboard_is_enough(self):
        browser = self.browser
        self.tab_to("race-start")
        self.tab_to("strategy")
        self.press(Keys.ARROW_UP)
        chosen = browser.run("return document.querySelector('#strategy').value")
        self.assertNotEqual(chosen, "conditional")
        self.tab_to("Buy: first")
        self.assertEqual(browser.run("return getComputedStyle(document.activeElement).outlineStyle"), "solid")
        self.press(Keys.ENTER)
        browser.wait_text("#answer .tag", "201")
        self.assertIn(f"strategy={chosen}", browser.text("#answer"))
        self.tab_to("Cancel: ")
        self.press(Keys.ENTER)
        browser.wait_text("#orders li:first-child .tag", "cancelled")
        self.tab_to("For the admin")
        self.press(Keys.ENTER)
        self.tab_to("a-audit")
        self.press(Keys.SPACE)
        browser.wait_text("#a-answer .verdict", "Kept: sold 0 of 10")

    def press(self, key):
        self.browser.driver.switch_to.active_element.send_keys(key)

    def tab_to(self, wanted):
        """By Tab alone, to what has this id, or a name that begins so."""
        for _ in range(60):
            self.press(Keys.TAB)
            at, name = self.browser.run("const at = document.activeElement;"
                                        " return [at.id, at.getAttribute('aria-label') ?? at.textContent]")
            if at == wanted or name.startswith(wanted):
                return
        self.fail(f"no Tab leads to {wanted}")

    def test_it_does_not_ask_while_nobody_looks(self):
        asked = "return performance.getEntriesByType('resource').filter((entry) => entry.name.includes('/products?')).length"
        look = "document.dispatchEvent(new Event('visibilitychange'))"
        wait_for("the listening", lambda: self.server.metric("seckill_http_listeners") == 1)
        self.browser.run("Object.defineProperty(document, 'hidden', { get: () => window.away, configurable: true });"
                         f"window.away = true; performance.clearResourceTimings(); {look}")
        wait_for("the end of it", lambda: self.server.metric("seckill_http_listeners") == 0)
        # As long as two polls would take; the one that was under way may still end.
        self.browser.driver.set_script_timeout(10)
        self.browser.driver.execute_async_script("setTimeout(arguments[0], 2200)")
        self.assertLessEqual(self.browser.run(asked), 1)
        self.assertEqual(self.server.metric("seckill_http_listeners"), 0)
        self.browser.run(f"window.away = false; {look}")
        wait_for("the listening to go on", lambda: self.server.metric("seckill_http_listeners") == 1)


class Forgetful(unittest.TestCase):
    def test_it_works_where_site_data_is_blocked(self):
        server = Server(PROGRAM, "--admin-token", TOKEN)
        self.addCleanup(server.stop)
        browser = Browser(prefs={"profile.default_content_setting_values.cookies": 2})
        self.addCleanup(browser.quit)
        server.ask("PUT", "/products/1", {"stock": 10, "name": "first"})
        browser.driver.get(f"{server.url}/#token={TOKEN}")
        self.assertTrue(browser.run("try { return !sessionStorage; } catch { return true; }"))
        browser.wait_text("[data-product='1'] h3", "first")
        self.assertTrue(browser.find("#forgets").is_displayed())
        browser.find("[data-product='1'] button").click()
        browser.wait_text("#answer .tag", "201")
        browser.find("#language").click()
        browser.wait_text("[data-product='1'] button", "购买")


if __name__ == "__main__":
    signal.signal(signal.SIGALRM, give_up)
    signal.signal(signal.SIGTERM, give_up)
    signal.alarm(ALL_S)
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
