/*
 * The live page: a race of two strategies, what is for sale, buying, one's orders, and the admin's calls.
 *
 * Everything goes over the public contract, and what comes back is put in as text alone. It is live by GET /events, and
 * where that is refused or ends, or cannot tell of the products that are shown, by polling: one call at a time, a second
 * after the last answer, fewer while the server does not answer. Nothing of it while the tab is hidden or a race runs: a
 * browser opens few connections to a server, and the race wants them.
 * What is kept (the user, the language, the admin token) is kept in sessionStorage: in this tab alone. Where the browser
 * blocks that, nothing is, and the page says so. It may stand below any path: it asks for what stands beside it.
 * http://HOST/#race=redis-token,redis-fenced,20,100,3,stop begins that race, and stops a holder in it.
 */
(() => {
  const letters = ["one_instance", "many_instances", "paused_holder", "redis_failover"];
  const connections = 6; /* what a browser opens to one server */
  const pageOf = 24;
  const ordersShown = 20;
  const pollMs = 1000;
  const pollMsWhenLost = 5000;
  const hearAgainMs = 10000;
  const auditMs = 200;
  const settleMs = 15000; /* a race waits so long for what was queued to be decided */
  const callMs = 10000;
  const noticeMs = 2000; /* what is asked every second is answered so soon, or the server does not answer */
  const orderMs = 70000; /* an order may wait for a minute */

  let storage = null;
  try {
    storage = window.sessionStorage;
  } catch { /* blocked */ }
  const recall = (name) => storage?.getItem(name) ?? null;
  const root = new URL(".", location.href).pathname.slice(0, -1); /* below which the server is */

  let language = recall("language") ?? (navigator.language.startsWith("zh") ? "zh" : "en");
  let strategies = [];
  let products = []; /* that are shown */
  let known = null; /* what the events tell of, by id; null: they tell nothing now */
  let knownNext = null; /* behind this one they know nothing */
  let events = null;
  let hearFromMs = 0; /* not before that: they were refused, or ended */
  let after = 0;
  let next = null;
  let racing = false;
  let skewMs = 0; /* how far the server's clock is ahead of ours */
  const $ = (id) => document.getElementById(id);
  const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  const say = (text, ...values) => text.replace(/\{(\d)\}/g, (_, i) => values[i]);
  const t = (name, ...values) => say(texts[language][name], ...values);

  const make = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };
  /* Only what changed: a reader of the screen hears no more than there is to say. */
  const set = (element, text) => {
    if (element.textContent !== String(text))
      element.textContent = text;
  };
  const figures = (pairs) => make("dl", { className: "figures" }, ...pairs.map(([name, value]) =>
    make("div", {}, make("dt", { textContent: name }), make("dd", { textContent: value }))));
  const bar = () => {
    const element = make("div", { className: "bar", role: "img" }, make("i"), make("i", { className: "over" }));
    return { element, draw: (part, over, label) => {
      element.children[0].style.width = `${100 * part}%`;
      element.children[1].style.width = `${100 * over}%`;
      element.setAttribute("aria-label", label);
    } };
  };

  /* Calls --------------------------------------------------------------------------------------------------------- */

  /* Ids have up to 63 bits, JavaScript's numbers 53. */
  const parse = (text) => JSON.parse(text.replace(/("\w*id": ?|"next": ?)(\d{16,})/g, '$1"$2"'));

  const follow = (reply) => {
    const date = Date.parse(reply.headers.get("Date") ?? "");
    const ahead = date + 500 - Date.now(); /* it says whole seconds */
    skewMs = Math.abs(ahead) > 1500 ? ahead : 0;
  };

  /* Never throws: {status: 0} when there was no answer. */
  const call = async (method, path, { body, headers = {}, ms = callMs } = {}) => {
    const begun = performance.now();
    try {
      const reply = await fetch(root + path, { method, cache: "no-store", credentials: "omit", signal: AbortSignal.timeout(ms),
        headers: body ? { "Content-Type": "application/json", ...headers } : headers, body: body && JSON.stringify(body) });
      const text = await reply.text();
      follow(reply);
      let json = null;
      try {
        json = parse(text);
      } catch { /* what stands between us and the server may answer in another language */ }
      return { status: reply.status, json, tookMs: performance.now() - begun };
    } catch {
      return { status: 0, json: null, tookMs: performance.now() - begun };
    }
  };
  const token = () => $("token").value.trim();
  const admin = async (method, path, body, ms) => {
    const reply = await call(method, path, { body, ms, headers: token() ? { Authorization: `Bearer ${token()}` } : {} });
    $("race-token").hidden = reply.status !== 401 && reply.status !== 403;
    return reply;
  };
  const given = (id, member, to) => $(id).value.trim() === "" ? {} : { [member]: to($(id).value.trim()) };
  const newKey = () =>
    Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  const buy = (product, user, strategy, key, hold = {}, more = "") => call("POST", `/orders?strategy=${encodeURIComponent(strategy)}${more}`,
    { body: { product_id: product, user_id: user, ...hold }, headers: key ? { "Idempotency-Key": key } : {}, ms: orderMs });
  const why = (reply) => reply.status === 0 ? t("unreachable")
    : texts[language].problems[reply.json?.code] ?? reply.json?.detail ?? String(reply.status);
  const good = (reply) => reply.status >= 200 && reply.status < 300;

  /* What was answered --------------------------------------------------------------------------------------------- */

  const seconds = (us) => us < 1000 ? `${us} µs` : `${(us / 1000).toFixed(1)} ms`;

  const panels = new Map(); /* what each shows, to say it again in another language */
  const draw = (panel) => {
    const { what, reply } = panels.get(panel);
    const { json } = reply;
    const pairs = [[t("took"), `${reply.tookMs.toFixed(1)} ms`]];
    if (json?.code)
      pairs.unshift([t("code"), json.code]);
    if (json?.timings)
      pairs.push([t("queueUs"), seconds(json.timings.queue_us)], [t("lockUs"), seconds(json.timings.lock_us)],
        [t("workUs"), seconds(json.timings.work_us)]);
    panel.replaceChildren(
      make("div", { className: "line" }, make("span", { className: "small", textContent: what }),
        make("span", { className: `tag ${good(reply) ? "safe" : "bad"}`, textContent: reply.status || t("silent") })),
      ...(json?.oversold === undefined ? [] : [books(json)]), figures(pairs),
      make("pre", { textContent: json ? JSON.stringify(json, null, 2) : why(reply), tabIndex: 0 }));
  };
  const show = (panel, what, reply) => {
    panels.set(panel, { what, reply });
    draw(panel);
  };

  /* An audit's verdict: it counts the database's rows. */
  const judge = (element, audit) => {
    const there = audit.initial_stock + audit.restocked;
    const oversold = audit.oversold > 0;
    element.className = `verdict ${oversold ? "oversold" : audit.consistent ? "safe" : "trouble"}`;
    set(element, oversold ? t("oversold", audit.oversold, audit.sold, there)
      : audit.consistent ? t("kept", audit.sold, there) : t("unbalanced", audit.lost_updates));
    return element;
  };
  const books = (audit) => make("div", { className: "books" }, judge(make("p"), audit),
    figures(Object.entries(texts[language].books).map(([member, name]) => [name, audit[member]])));

  /* What is for sale ---------------------------------------------------------------------------------------------- */

  const until = (ms) => {
    const s = Math.ceil(ms / 1000);
    const clock = [Math.floor(s / 3600) % 24, Math.floor(s / 60) % 60, s % 60].map((n) => String(n).padStart(2, "0")).join(":");
    return s >= 86400 ? t("days", Math.floor(s / 86400), clock) : clock;
  };
  const state = (product) => {
    const now = Date.now() + skewMs;
    const opens = product.opens_at ? Date.parse(product.opens_at) : 0;
    if (opens > now)
      return ["act", t("opensIn", until(opens - now))];
    if (product.closes_at && Date.parse(product.closes_at) <= now)
      return ["", t("closed")];
    return product.stock > 0 ? ["safe", t("stockOf", product.stock, product.initial_stock)] : ["", t("soldOut")];
  };

  /* 503: nothing was done. 504 and silence: nobody knows; the same key finds out. */
  const press = async (card) => {
    const strategy = $("strategy").value;
    const key = card.again ?? newKey();
    card.button.disabled = true;
    const reply = await buy(card.id, $("user").value, strategy, key, given("hold", "hold_s", Number));
    card.again = reply.status === 0 || reply.status >= 500 ? key : null;
    card.button.disabled = false;
    set(card.button, t(card.again ? "again" : "buy"));
    card.button.focus({ preventScroll: true }); /* a disabled button lost it */
    show($("answer"), `POST /orders?strategy=${strategy}`, reply);
    await Promise.all([refreshProducts(), refreshOrders()]);
  };

  const cards = new Map();
  const cardOf = (id) => {
    let card = cards.get(id);
    if (!card) {
      card = { id, title: make("h3"), bar: bar(), state: make("span"), limit: make("span", { className: "small" }),
        button: make("button", { type: "button", className: "act", textContent: t("buy") }), again: null };
      card.button.addEventListener("click", () => press(card));
      card.element = make("article", { className: "card" }, make("div", { className: "line" }, card.title, card.state),
        card.bar.element, make("div", { className: "line" }, card.limit, card.button));
      card.element.dataset.product = id;
      cards.set(id, card);
    }
    return card;
  };

  const drawProducts = () => {
    for (const [id, card] of cards)
      if (!products.some((product) => product.id === id)) {
        card.element.remove();
        cards.delete(id);
      }
    for (const product of products) {
      const card = cardOf(product.id);
      const [colour, text] = state(product);
      set(card.title, product.name ?? t("unnamed", product.id));
      card.state.className = `tag ${colour}`;
      set(card.state, text);
      set(card.limit, `#${product.id}${product.limit_per_user ? ` · ${t("perUser", product.limit_per_user)}` : ""}`);
      card.button.className = colour === "safe" ? "act" : ""; /* the server has the last word, not this clock */
      card.button.setAttribute("aria-label", `${card.button.textContent}: ${card.title.textContent}`);
      card.bar.draw(Math.max(product.stock, 0) / Math.max(product.initial_stock, product.stock, 1), 0,
        t("stockOf", product.stock, product.initial_stock));
      if (!card.element.isConnected)
        $("products").append(card.element);
    }
    $("first").hidden = after === 0;
    $("more").hidden = next === null;
  };

  /* Lists may come out of turn: one that was asked for before what is shown came is old. */
  const turns = () => {
    let asked = 0, shown = 0;
    return () => {
      const turn = ++asked;
      return () => turn > shown && Boolean(shown = turn);
    };
  };
  const productsTurn = turns(), ordersTurn = turns();
  const isOurs = (product) => lanes.some((lane) => lane.owns(product));

  /* What the events know of the page that is shown; false: not all of it. */
  const showKnown = () => {
    if (!known)
      return false;
    const behind = [...known.values()].filter((product) => BigInt(product.id) > BigInt(after))
      .sort((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1));
    if (behind.length < pageOf && knownNext !== null)
      return false;
    const page = behind.slice(0, pageOf);
    products = page.filter((product) => !isOurs(product));
    next = page.length === pageOf ? page[pageOf - 1].id : null;
    productsTurn()();
    drawProducts();
    return true;
  };

  const tell = (trouble) => {
    $("trouble").hidden = !trouble;
    set($("trouble"), trouble);
  };
  /* Events that stay away say nothing: a server that stands still has nothing to tell either. */
  const isAlive = async () => {
    const reply = await call("GET", "/healthz", { ms: noticeMs });
    tell(reply.status === 0 ? why(reply) : "");
    return reply.status !== 0;
  };

  const hush = () => {
    events?.close();
    events = known = null;
  };

  const hearken = () => {
    const mine = events = new EventSource(`${root}/events`);
    const take = (event, from) => {
      if (events !== mine)
        return;
      const told = parse(event.data);
      known = new Map([...from, ...told.products.map((product) => [String(product.id), product])]);
      knownNext = told.next;
      showKnown();
    };
    mine.addEventListener("products", (event) => take(event, []));
    mine.addEventListener("changed", (event) => take(event, known ?? []));
    mine.addEventListener("error", () => {
      if (events === mine) {
        hush();
        hearFromMs = Date.now() + hearAgainMs;
      }
    });
  };

  const refreshProducts = async () => {
    const isNew = productsTurn();
    const reply = await call("GET", `/products?limit=${pageOf}&after=${after}`, { ms: noticeMs });
    const listed = reply.json?.products;
    tell(listed ? "" : why(reply));
    if (listed && isNew()) {
      products = listed.filter((product) => !isOurs(product));
      next = reply.json.next;
    }
    drawProducts();
    return Boolean(listed);
  };

  /* One's orders -------------------------------------------------------------------------------------------------- */

  let orders = [];
  const rows = new Map();
  const tagOf = { confirmed: "safe", queued: "act", pending: "act", failed: "bad", expired: "bad" };
  const cancels = ["confirmed", "queued", "pending"];

  const doTo = (order, button, what) => button.addEventListener("click", async () => {
    const path = `/orders/${order.id}/${what}`;
    button.disabled = true;
    show($("answer"), `POST ${path}`, await call("POST", path, { ms: orderMs }));
    button.disabled = false;
    await Promise.all([refreshProducts(), refreshOrders()]);
  });

  /* A pending one says how long it can still be paid; the server has the last word, not this clock. */
  const stateOf = (order) => (texts[language].statuses[order.status] ?? order.status) +
    (order.reason ? `: ${order.reason}` : "") +
    (order.hold_until ? ` ${until(Math.max(Date.parse(order.hold_until) - Date.now() - skewMs, 0))}` : "");

  const rowOf = (order) => {
    let row = rows.get(order.id);
    if (!row) {
      row = { status: make("span"), button: make("button", { type: "button", className: "quiet" }),
        pay: make("button", { type: "button", className: "act" }) };
      doTo(order, row.button, "cancel");
      doTo(order, row.pay, "pay");
      row.element = make("li", { title: order.id }, make("span", { className: "what" },
        make("div", { textContent: `#${order.product_id} × ${order.quantity}` }),
        make("div", { className: "small", textContent: `${order.strategy} · ${new Date(order.created_at).toLocaleTimeString(document.documentElement.lang)}` })),
        row.status, row.button, row.pay);
      row.element.dataset.order = order.id;
      rows.set(order.id, row);
    }
    return row;
  };

  const drawOrders = () => {
    const shown = orders.slice(-ordersShown).reverse();
    for (const [id, row] of rows)
      if (!shown.some((order) => order.id === id)) {
        row.element.remove();
        rows.delete(id);
      }
    shown.forEach((order, i) => {
      const row = rowOf(order);
      row.status.className = `tag ${tagOf[order.status] ?? ""}`;
      set(row.status, stateOf(order));
      row.button.hidden = !cancels.includes(order.status);
      row.pay.hidden = order.status !== "pending";
      for (const [button, what] of [[row.button, "cancel"], [row.pay, "pay"]]) {
        set(button, t(what));
        button.setAttribute("aria-label", `${t(what)}: ${order.id}`);
      }
      if ($("orders").children[i] !== row.element)
        $("orders").insertBefore(row.element, $("orders").children[i] ?? null);
    });
    $("no-orders").hidden = orders.length > 0 && orders.length <= ordersShown;
    set($("no-orders"), orders.length === 0 ? t("noOrders") : t("lost", orders.length - ordersShown));
  };

  const refreshOrders = async () => {
    const user = $("user").value.trim();
    const isNew = ordersTurn();
    const reply = /^[1-9]\d*$/.test(user) ? await call("GET", `/orders?user_id=${user}&limit=1000`) : null;
    if (user !== $("user").value.trim() || !isNew())
      return; /* of somebody else by now, or old */
    orders = reply ? reply.json?.orders ?? orders : [];
    drawOrders();
  };

  const describe = () => {
    const chosen = strategies.find((strategy) => strategy.name === $("strategy").value);
    if (!chosen)
      return;
    const kept = texts[language].promises.filter((_, i) => chosen.guarantees[letters[i]]);
    set($("promise"), `${language === "zh" ? `${chosen.summary_zh ?? chosen.summary}。` : `${chosen.summary} `}` +
      (kept.length ? t("promise", kept.join(t("comma"))) : t("promiseNone")));
    $("why").hidden = kept.length === letters.length;
    showZoo();
  };

  /* How it breaks: a recorded run, asked for when somebody wants to see it. */
  let zoo = null;
  const words = (english, chinese) => language === "zh" && chinese || english;
  const lineOf = ([kind, text, came]) => kind === "s"
    ? make("div", {}, make("code", { textContent: text }), came ? ` → ${came}` : "")
    : make("div", { className: kind === "a" ? "told" : "small", textContent: kind === "a" ? `→ ${text}` : words(text, came) });
  const tableOf = (act) => {
    const buyers = [...Array(act.buyers).keys()];
    const head = buyers.map((i) => make("th", { scope: "col", textContent: "ABC"[i] }));
    const body = act.rows.map(([who, ...lines], i) => make("tr", {}, make("th", { scope: "row", textContent: i + 1 }),
      ...buyers.map((buyer) => make("td", {}, ...(buyer === who ? lines.map(lineOf) : [])))));
    return make("div", { className: "wide", tabIndex: 0, lang: "en" }, make("table", {},
      make("thead", {}, make("tr", {}, make("td"), ...head)), make("tbody", {}, ...body)));
  };
  const partOf = (act, safe) => [make("p", { textContent: words(act.story, act.story_zh) }), tableOf(act),
    make("p", { className: `verdict ${safe ? "safe" : "trouble"}`, textContent: t("rowsSay", words(act.verdict, act.verdict_zh)) })];
  const exhibitOf = async (name) => {
    zoo ??= (await call("GET", "/zoo")).json;
    const exhibit = zoo?.[name];
    return exhibit ? [make("h3", { textContent: words(exhibit.title, exhibit.title_zh) }),
      ...partOf(exhibit.unsafe, false), make("h3", { textContent: t("sameWith", exhibit.safe.strategy) }),
      ...partOf(exhibit.safe, true)] : [t(zoo ? "noRun" : "unreachable")];
  };
  const showZoo = async () => {
    if (!$("why").hidden && $("why").open)
      $("zoo").replaceChildren(...await exhibitOf($("strategy").value));
  };

  const showRaceZoo = async () => {
    if ($("race-zoo").dataset.of)
      $("race-zoo").replaceChildren(...await exhibitOf($("race-zoo").dataset.of));
  };

  const fill = (select, wanted) => {
    const groups = new Map();
    for (const strategy of strategies) {
      const family = strategy.usual ? "usual" : strategy.family;
      const group = groups.get(family) ?? make("optgroup", { label: texts[language].families[family] ?? family });
      group.append(make("option", { value: strategy.name, disabled: !strategy.available,
        textContent: strategy.available ? strategy.name : `${strategy.name} (${t("unavailable")})` }));
      groups.set(family, group);
    }
    const kept = select.value || wanted;
    select.replaceChildren(...groups.values());
    select.value = kept;
  };

  /* The race ------------------------------------------------------------------------------------------------------ */

  const raceName = "race: ";

  const lanes = ["none", "conditional"].map((wanted, i) => {
    const lane = { product: 900001 + i, wanted, select: make("select"), bar: bar(), verdict: make("p", { role: "status" }),
      counts: make("div"), took: make("span", { className: "small" }), audit: null, answers: null, note: null /* says what went wrong */,
      stop: false /* the next buyer's session stands still */, stopped: 0 };
    lane.owns = (product) => product.id === lane.product && (product.name ?? "").startsWith(raceName);
    lane.name = () => t("lane", i + 1, lane.select.value || wanted);
    lane.element = make("article", { className: "card" }, make("div", { className: "line" }, lane.select, lane.took),
      lane.bar.element, lane.counts, lane.verdict);
    lane.element.dataset.lane = i;
    lane.select.addEventListener("change", () => drawLane(lane));
    return lane;
  });
  const begun = () => ({ sold: 0, refused: 0, failed: 0, failures: {}, tookMs: 0 });

  /* The bar is as long as what was there, or as what was sold, when that is more: what is too much is red. */
  const drawLane = (lane) => {
    const there = lane.audit ? lane.audit.initial_stock : Number($("race-stock").value);
    const sold = lane.audit?.sold ?? 0;
    const whole = Math.max(there, sold, 1);
    const answers = lane.answers ?? begun();
    lane.element.setAttribute("aria-label", lane.name());
    lane.bar.draw(Math.min(sold, there) / whole, Math.max(sold - there, 0) / whole, `${lane.name()}: ${t("sold")}: ${sold} / ${there}`);
    lane.counts.replaceChildren(figures([[t("left"), lane.audit?.stock ?? "–"], [t("sold"), sold],
      [t("refused"), answers.refused], [t("failed"), answers.failed]]),
      ...Object.entries(answers.failures).map(([code, times]) =>
        make("span", { className: "tag", textContent: t("told", times, code) })));
    set(lane.took, answers.tookMs ? t("raceTook", answers.sold + answers.refused + answers.failed,
      (answers.tookMs / 1000).toFixed(2)) : "");
    if (lane.audit && !lane.note && (answers.tookMs || lane.audit.oversold > 0)) {
      judge(lane.verdict, lane.audit);
    } else {
      lane.verdict.className = `verdict${lane.note ? " trouble" : ""}`;
      set(lane.verdict, lane.note?.() ?? t(lane.stopped ? "raceStalls" : lane.answers ? "raceRuns" : "raceIdle"));
    }
  };

  const audit = async (lane) => {
    const reply = await admin("GET", `/products/${lane.product}/audit`, undefined, orderMs); /* behind the orders */
    if (reply.status === 200 && reply.json)
      lane.audit = reply.json;
    else
      lane.note = () => why(reply);
    drawLane(lane);
  };

  /* A sale of the race's own; a product that is not is let alone. */
  const open = async (lane, stock) => {
    const { json } = await call("GET", `/products?limit=1&after=${lane.product - 1}`);
    const there = json?.products?.[0];
    if (there?.id === lane.product && !lane.owns(there)) {
      lane.note = () => t("raceTaken", lane.product);
      return false;
    }
    const reply = await admin("PUT", `/products/${lane.product}`, { stock, name: raceName + lane.select.value });
    if (!good(reply))
      lane.note = () => why(reply);
    return good(reply);
  };

  /* As many at once as there are connections, in steps over the seconds that were asked for, so that one can watch. Who
   * stands still keeps none of the others. */
  const run = async (lane, buyers, ms) => {
    const crowd = connections / lanes.length;
    const stepMs = ms / Math.ceil(buyers / crowd);
    const from = performance.now();
    let last = 0;
    const buyInTurn = async () => {
      for (let step = 0; last < buyers; step = Math.max(step + 1, Math.ceil((performance.now() - from) / stepMs))) {
        const user = ++last;
        await wait(from + step * stepMs - performance.now());
        const stops = lane.stop;
        lane.stop = false;
        lane.stopped += stops;
        drawLane(lane);
        const { status, json } = await buy(lane.product, user, lane.select.value, null, {}, stops ? "&stall=true" : "");
        lane.stopped -= stops;
        const came = status === 201 || status === 202 ? "sold" : status === 409 ? "refused" : "failed";
        const failure = `${status || t("silent")} ${json?.code ?? ""}`;
        lane.answers[came]++;
        if (came === "failed")
          lane.answers.failures[failure] = (lane.answers.failures[failure] ?? 0) + 1;
        drawLane(lane);
      }
    };
    await Promise.all(Array.from({ length: crowd }, buyInTurn));
    lane.answers.tookMs = performance.now() - from;
  };

  /* To the end of the buying, and until what was queued is decided. */
  const watch = async (lane, ended) => {
    let until = Infinity;
    for (let over = false; !over; await wait(over ? 0 : auditMs)) {
      if (until === Infinity && ended())
        until = Date.now() + settleMs;
      await audit(lane);
      over = until !== Infinity && !(lane.audit?.queued > 0 && !lane.note && Date.now() < until);
    }
  };

  const limits = ["race-stock", "race-buyers", "race-seconds"];
  const bounded = (id) => Math.max(Number($(id).min), Math.min(Number($(id).max), Math.floor($(id).value) || 0));

  /* Why it came so, under the cards: of the first that oversold, or else of the first that can. */
  const explain = async () => {
    zoo ??= (await call("GET", "/zoo")).json;
    const lane = lanes.find(({ audit, select }) => audit?.oversold > 0 && zoo?.[select.value]) ?? lanes.find(({ select }) => zoo?.[select.value]);
    $("race-why").hidden = !lane;
    $("race-zoo").dataset.of = lane?.select.value ?? "";
    await showRaceZoo();
    $("race-why").open = lanes.some(({ audit }) => audit?.oversold > 0);
  };

  let replaced = null; /* the two in whose place the locks race */
  const drawReplaced = () => {
    $("race-replaced").hidden = !replaced;
    set($("race-replaced"), replaced ? t("raceReplaced", ...replaced) : "");
  };

  const race = async (stop, inPlaceOf = null) => {
    const [stock, buyers, s] = limits.map(bounded);
    racing = true;
    replaced = inPlaceOf;
    drawReplaced();
    hush();
    $("race-start").disabled = true;
    $("race-why").hidden = true;
    const asked = [...lanes.map(({ select }) => select.value), stock, buyers, s, ...(stop ? ["stop"] : [])];
    $("race-link").href = `#race=${asked.join(",")}`;
    const running = [];
    for (const lane of lanes) {
      Object.assign(lane, { audit: null, note: null, answers: begun(), stop, stopped: 0 });
      lane.select.disabled = true;
      if (await open(lane, stock))
        running.push(lane);
      drawLane(lane);
    }
    await Promise.all(running.map(async (lane) => {
      let ended = false;
      await Promise.all([run(lane, buyers, s * 1000).then(() => { ended = true; }), watch(lane, () => ended)]);
    }));
    for (const lane of lanes)
      lane.select.disabled = false;
    await explain();
    $("race-link").hidden = false;
    $("race-copy").hidden = !navigator.clipboard?.write;
    $("race-start").disabled = false;
    if (document.activeElement === document.body)
      $("race-start").focus({ preventScroll: true });
    racing = false;
  };

  /* While they race, the next to have its lock stands still in both; before, two locks race, and the first does. */
  const stopHolder = () => {
    if (racing) {
      for (const lane of lanes)
        lane.stop = true;
      return;
    }
    const locks = (name) => strategies.find((strategy) => strategy.name === name)?.family.endsWith("-lock");
    const chosen = lanes.map(({ select }) => select.value);
    const others = !chosen.some(locks);
    if (others)
      lanes.forEach((lane, i) => { lane.select.value = ["redis-token", "redis-fenced"][i]; });
    race(true, others ? chosen : null);
  };

  /* #race=A,B,STOCK,BUYERS,SECONDS[,stop] */
  let asked = null;
  const takeRace = () => {
    asked = /^#race=([^&]+)/.exec(location.hash)?.[1].split(",") ?? null;
    beginAsked();
  };
  const beginAsked = () => {
    if (!asked || racing || strategies.length === 0)
      return;
    lanes.forEach((lane, i) => { lane.select.value = asked[i]; });
    limits.forEach((id, i) => { $(id).value = asked[i + 2] ?? $(id).value; });
    const stop = asked[5] === "stop" && !$("race-stop").hidden;
    asked = null;
    if (lanes.every(({ select }) => select.value))
      race(stop);
    else
      speak();
  };

  /* The cards as a picture, and what they say as text, with the link. */
  const picture = () => {
    const [width, height] = [960, 260];
    const canvas = make("canvas", { width, height });
    const on = canvas.getContext("2d");
    const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`);
    const rectangle = (name, ...where) => { on.fillStyle = colour(name); on.fillRect(...where); };
    const write = (name, size, text, x, y) => {
      on.fillStyle = colour(name);
      on.font = `600 ${size}px system-ui, sans-serif`;
      on.fillText(text, x, y, 420);
    };
    rectangle("ground", 0, 0, width, height);
    lanes.forEach(({ audit, select, verdict }, i) => {
      const x = 20 + i * 470, over = audit?.oversold > 0;
      const whole = Math.max(audit?.initial_stock ?? 1, audit?.sold ?? 1);
      rectangle("panel", x, 20, 450, 220);
      write("ink", 30, select.value, x + 15, 70);
      rectangle("act", x + 15, 95, 420 * Math.min(audit?.initial_stock ?? 0, audit?.sold ?? 0) / whole, 16);
      if (over)
        rectangle("bad", x + 15 + 420 * audit.initial_stock / whole, 95, 420 * (audit.sold - audit.initial_stock) / whole, 16);
      rectangle(over ? "bad" : "safe-ground", x + 15, 150, 420, 60);
      write(over ? "on-bad" : "safe", 20, verdict.textContent, x + 25, 187);
    });
    return new Promise((resolve) => canvas.toBlob(resolve));
  };
  const copy = async () => {
    const text = [...lanes.map((lane) => `${lane.select.value}: ${[lane.verdict, ...lane.counts.querySelectorAll(".tag")]
      .map((element) => element.textContent).join("; ")}`), $("race-link").href].join("\n");
    await navigator.clipboard.write([new ClipboardItem({ "image/png": picture(), "text/plain": new Blob([text], { type: "text/plain" }) })]);
    set($("race-copy"), t("raceCopied"));
  };

  /* The admin ----------------------------------------------------------------------------------------------------- */

  const changes = () => ({ ...given("a-name", "name", String), ...given("a-limit", "limit_per_user", Number),
    ...given("a-hold", "hold_s", Number),
    ...given("a-opens", "opens_at", (s) => new Date(Date.now() + skewMs + s * 1000).toISOString()) });
  const actions = {
    "a-put": ["PUT", "", () => ({ stock: Number($("a-stock").value), ...changes() })],
    "a-restock": ["POST", "/restock", () => ({ quantity: Number($("a-stock").value) })],
    "a-patch": ["PATCH", "", changes],
    "a-audit": ["GET", "/audit", () => undefined],
  };
  const act = async (id) => {
    const [method, below, body] = actions[id];
    const path = `/products/${encodeURIComponent($("a-product").value.trim())}${below}`;
    $(id).disabled = true;
    show($("a-answer"), `${method} ${path}`, await admin(method, path, body()));
    $(id).disabled = false;
    $(id).focus({ preventScroll: true }); /* a disabled button lost it */
    await Promise.all([refreshProducts(), refreshOrders()]);
  };

  const keep = (id) => storage?.setItem(id, $(id).value.trim());
  /* http://HOST/#token=…: what stands behind the # is sent to no server, and is taken out of the address at once. */
  const takeToken = () => {
    const found = /^#token=(.+)$/.exec(location.hash);
    if (found) {
      $("token").value = decodeURIComponent(found[1]);
      keep("token");
      history.replaceState(null, "", location.pathname);
    }
  };

  /* All of it ----------------------------------------------------------------------------------------------------- */

  const speak = () => {
    document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
    for (const element of document.querySelectorAll("[data-t]"))
      set(element, t(element.dataset.t));
    set($("language"), t("other"));
    $("language").lang = language === "zh" ? "en" : "zh-CN";
    for (const card of cards.values())
      set(card.button, t(card.again ? "again" : "buy"));
    for (const panel of [$("answer"), $("a-answer")])
      if (panels.has(panel))
        draw(panel);
      else
        panel.replaceChildren(make("p", { className: "small", textContent: t("nothingYet") }));
    fill($("strategy"), "conditional");
    for (const lane of lanes) {
      fill(lane.select, lane.wanted);
      lane.select.setAttribute("aria-label", `${t("strategy")} ${lane.element.dataset.lane * 1 + 1}`);
      drawLane(lane);
    }
    drawReplaced();
    describe();
    showRaceZoo();
    drawProducts();
    drawOrders();
  };

  const listen = () => {
    $("user").addEventListener("change", () => { keep("user"); refreshOrders(); });
    $("token").addEventListener("input", () => keep("token"));
    $("strategy").addEventListener("change", describe);
    $("why").addEventListener("toggle", showZoo);
    $("language").addEventListener("click", () => {
      language = language === "en" ? "zh" : "en";
      storage?.setItem("language", language);
      speak();
    });
    $("race-start").addEventListener("click", () => race(false));
    $("race-stop").addEventListener("click", stopHolder);
    $("race-copy").addEventListener("click", copy);
    $("race-token").addEventListener("click", () => { $("admin").open = true; $("token").focus(); });
    $("first").addEventListener("click", () => { after = 0; refreshProducts(); });
    $("more").addEventListener("click", () => { after = next; refreshProducts(); });
    for (const id of Object.keys(actions))
      $(id).addEventListener("click", () => act(id));
    addEventListener("hashchange", () => { takeToken(); takeRace(); });
    document.addEventListener("visibilitychange", () => { if (document.hidden) hush(); });
  };

  const shown = () => document.hidden
    ? new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true })) : undefined;

  const poll = async () => {
    for (;;) {
      await shown();
      const answered = racing || (showKnown() ? await isAlive() : await refreshProducts());
      if (answered && !racing && !events && !document.hidden && Date.now() >= hearFromMs)
        hearken();
      if (answered && strategies.length === 0) {
        const reply = await call("GET", "/strategies");
        strategies = reply.status === 200 && reply.json ? reply.json : [];
        $("race-stop").hidden = !strategies.some(({ stalls }) => stalls);
        speak();
        beginAsked();
      }
      if (orders.some((order) => order.status === "queued" || order.status === "pending"))
        await refreshOrders();
      await wait(answered ? pollMs : pollMsWhenLost);
    }
  };

  $("user").value = recall("user") ?? 1 + Math.floor(Math.random() * 1e9);
  $("token").value = recall("token") ?? "";
  keep("user");
  takeToken();
  $("forgets").hidden = storage !== null;
  $("lanes").append(...lanes.map((lane) => lane.element));
  speak();
  listen();
  refreshOrders();
  takeRace();
  poll();
})();
