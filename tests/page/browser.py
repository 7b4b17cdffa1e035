"""A headless Chromium and a server of the test's own, which both end with it, and waiting.

A machine without chromium, its driver or selenium skips the test: SystemExit with ctest's code for that.
"""
import contextlib
import http.client
import http.server
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import urllib.request

SKIPPED = 77
PATIENCE_S = 120
TOKEN = "open-sesame"


def skip(why):
    print(f"skipped: {why}")
    raise SystemExit(SKIPPED)


try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
except ImportError:
    skip("python3-selenium is not installed")

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
if not CHROMIUM or not DRIVER:
    skip("chromium or chromium-driver is not installed (where it is a snap it cannot be driven from here)")


def wait_for(what, get):
    """The first true value of `get`."""
    end = time.monotonic() + PATIENCE_S
    while True:
        value = get()
        if value:
            return value
        assert time.monotonic() < end, f"not within {PATIENCE_S} s: {what}"
        time.sleep(0.05)


class Server:
    """On a free port; all on one schema of the test's own. What it holds its protection for makes the race wide."""

    def __init__(self, program, *flags):
        self.process = subprocess.Popen(
            [program, "--listen", "127.0.0.1:0", "--schema", "page_test", "--system-name", "page_test", "--log-level", "error",
             "--database", os.environ["SECKILL_TEST_DATABASE"], "--work-ms", "5", *flags],
            stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        assert line.startswith("listening on http://"), f"the server does not start: {line!r}"
        self.url = line.split()[-1]
        wait_for("PostgreSQL", self.is_ready)

    def is_ready(self):
        try:
            return self.ask("GET", "/readyz")["ready"]
        except urllib.error.HTTPError:
            return False

    def ask(self, method, path, body=None):
        request = urllib.request.Request(self.url + path, method=method, data=body and json.dumps(body).encode(),
                                         headers={"Authorization": f"Bearer {TOKEN}"})
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as reply:
            return json.load(reply)

    def metric(self, name):
        with urllib.request.urlopen(self.url + "/metrics", timeout=PATIENCE_S) as reply:
            return int(next(line.split()[1] for line in reply.read().decode().splitlines() if line.startswith(f"{name} ")))

    def listen(self):
        """Somebody who listens for as long as what this returns is kept."""
        return urllib.request.urlopen(self.url + "/events", timeout=PATIENCE_S)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(PATIENCE_S)
        self.process.stdout.close()
        assert code == 0, f"the server ended with {code}"


class Prefix(http.server.BaseHTTPRequestHandler):
    """A proxy that has the server below /shop/, and nothing else."""
    protocol_version = "HTTP/1.1"
    behind = None  # HOST:PORT

    def answer(self):
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length) if length else None
        if not self.path.startswith("/shop/"):
            self.send_error(404)
            return
        way = http.client.HTTPConnection(self.behind, timeout=PATIENCE_S)
        way.request(self.command, self.path[len("/shop"):], body, dict(self.headers))
        reply = way.getresponse()
        self.send_response(reply.status)
        for name, value in reply.getheaders():
            if name not in ("Connection", "Transfer-Encoding", "Date", "Server", "Content-Length"):
                self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        with contextlib.suppress(OSError):  # who listens to the events has gone
            while part := reply.read1():
                self.wfile.write(part)
                self.wfile.flush()
        way.close()

    do_GET = do_POST = do_PUT = answer

    def log_message(self, *_):
        pass


def below_a_prefix(server):
    """(the proxy, to be shut down; its URL)"""
    proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Shop", (Prefix,), {"behind": server.url[len("http://"):]}))
    proxy.daemon_threads = True
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    return proxy, f"http://127.0.0.1:{proxy.server_port}/shop"


class Browser:
    def __init__(self, log_network=False, prefs={}):
        self.profile = tempfile.TemporaryDirectory(prefix="seckill-page.", ignore_cleanup_errors=True)
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for argument in ("--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                         "--disable-background-networking", "--lang=en-US", "--window-size=1280,1000",
                         f"--user-data-dir={self.profile.name}", *(["--no-sandbox"] if os.geteuid() == 0 else [])):
            options.add_argument(argument)
        options.add_experimental_option("prefs", {"intl.accept_languages": "en-US", **prefs})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", **({"performance": "ALL"} if log_network else {})})
        self.driver = webdriver.Chrome(service=Service(DRIVER), options=options)

    def quit(self):
        self.driver.quit()
        self.profile.cleanup()

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def cdp(self, command, **arguments):
        return self.driver.execute_cdp_cmd(command, arguments)

    def requests(self):
        """What has been asked for since the last call, whatever came of it."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]

    def find(self, selector):
        return self.driver.find_element("css selector", selector)

    def text(self, selector):
        """As it stands in the page; None where there is no such element."""
        return self.run("return document.querySelector(arguments[0])?.textContent ?? null", selector)

    def wait_text(self, selector, part):
        wait_for(f"{part!r} in {selector}, which has {self.text(selector)!r}", lambda: part in (self.text(selector) or ""))

    def type(self, selector, text):
        element = self.find(selector)
        element.clear()
        element.send_keys(text)

    def media(self, **features):
        self.cdp("Emulation.setEmulatedMedia",
                 features=[{"name": name.replace("_", "-"), "value": value} for name, value in features.items()])
