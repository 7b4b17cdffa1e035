"""results.json files of every kind, written by hand: what a run, a bell, a sweep, a matrix of faults and a file of before leave
behind."""
import json
import os

EVERYTHING = ["one_instance", "many_instances", "paused_holder", "redis_failover"]
HTML_NAME = '<img src=x onerror="window.hit=1"><script>window.hit=1</script>&amp;'


def speed(strategy, rate, instances=1, round_number=1, steps="1024:900 2048:90 10240:9 70000:1", promise=EVERYTHING, **more):
    return {"strategy": strategy, "body": "", "instances": instances, "phase": "speed", "round": round_number,
            "requests": 1000, "committed": 1000, "committed_per_s": rate, "refused": 0, "failed": 0, "unknown": 0,
            "latency_us": {"p50": 1024, "p90": 1024, "p99": 2048, "max": 70000, **({"steps": steps} if steps else {})},
            "audit": {"sold": 1000, "oversold": 0, "lost_updates": 0}, "promise": promise, "verdict": "kept", **more}


def truth(strategy, sold, verdict, instances=1, promise=EVERYTHING, **more):
    return {"strategy": strategy, "body": "", "instances": instances, "phase": "truth", "round": 1, "stock": 100,
            "audit": {"sold": sold, "oversold": max(sold - 100, 0), "lost_updates": 0}, "promise": promise,
            "verdict": verdict, **more}


def run():
    """Every class and verdict, one and three instances, names that are HTML, many strategies."""
    runs = []
    for number, instances in ((0, 1), (1, 3)):
        for round_number in (1, 2):
            for i, strategy in enumerate(["conditional", "batch", "redis-queue", "pessimistic", "partitioned-queue"]):
                runs.append(speed(strategy, 40000 / 3 ** i + round_number * 50 - number * 30, instances, round_number))
            runs.append(speed("redis-token", 1600, instances, round_number, promise=EVERYTHING[:2]))
            runs.append(speed("none", 1900, instances, round_number, promise=[]))
        runs += [truth("conditional", 100, "kept", instances), truth("none", 1707, "unsafe, as stated", instances, [])]
    runs += [truth("pessimistic", 101, "BROKEN"),
             speed(HTML_NAME, 1000, error="a & b < c"), speed("batch", 70, body="guarded", failed=3)]
    return runs


def bell():
    def part(name, seconds, rate, **classes):
        return {"part": name, "rate_per_s": rate, "duration_s": seconds, "arrivals": seconds * rate, "late_starts": 0,
                "never_started": 0, "latency_us": {kind: {"count": 30, "p50": 900, "p90": 1500, "p99": 3000, "p999": 3500,
                                                          "max": 4000, "steps": "1024:20 4000:10"} for kind in classes}}
    slices = {"slice_us": 100000, "offered": " ".join(["20"] * 12 + ["300"] * 18 + ["20"] * 30),
              "committed": {"answered": " ".join(["0"] * 12 + ["250", "150"] + ["0"] * 46),
                            "p50_us": " ".join(["0"] * 12 + ["9000", "30000"] + ["0"] * 46),
                            "p99_us": " ".join(["0"] * 12 + ["20000", "70000"] + ["0"] * 46)},
              "refused": {"answered": " ".join(["20"] * 12 + ["0", "100"] + ["300"] * 16 + ["20"] * 30),
                          "p50_us": " ".join(["500"] * 60), "p99_us": " ".join(["2500"] * 60)},
              "failed": {"answered": " ".join(["0"] * 14 + ["5"] + ["0"] * 45), "p50_us": "", "p99_us": ""}}
    return [speed("conditional", 67, phase="load", open_loop={
        "arrivals": "poisson", "committed_in_time": 400, "unanswered": 0, "too_late": False, "lag_us": {}, "timeline": slices,
        "parts": [part("idle", 1.2, 200, refused=1), part("bell", 1.8, 3000, committed=1, refused=1, failed=1),
                  part("tail", 3, 200, refused=1)]})]


def sweep():
    return [speed(strategy, rate * (1 + 0.1 * round_number) * (1 + value), round_number=round_number, over="connections", value=value)
            for strategy, rate in (("batch", 500), ("conditional", 100)) for value in (0, 1, 8, 64, 1000) for round_number in (1, 2)]


def unpaid():
    """Kept, wrong and nothing at all, and a name that is HTML."""
    def sale(strategy, verdict, bought, paid, too_late, never_paid, wrong=""):
        return truth(strategy, paid, verdict, 3, scenario="unpaid", unpaid={
            "bought": bought, "paid": paid, "too_late": too_late, "never_paid": never_paid, "refused": 90210, "failed": 0,
            "unknown": 0, "odd": 0, "most_held": 48, "looks": 118, "disagreed": 7 if wrong else 0, "wrong": wrong})
    return [sale("conditional", "kept", 400, 160, 110, 130), sale("partitioned-queue", "BROKEN", 4000, 1600, 1100, 1300, "oversold 3 & <b>"),
            sale("none", "proved nothing", 0, 0, 0, 0), sale(HTML_NAME, "unsafe, as stated", 40, 40, 0, 0)]


def old():
    return [speed("conditional", 4000, steps=None), truth("conditional", 100, "kept")]


def drawn():
    """Figures whose places in the pictures are known: rates from 200 to 20000, times with two decades, steps, an odd part."""
    def one(strategy, rate, latency=None, **more):
        return speed(strategy, rate, **{"latency_us": latency or {}, **more})
    schedule = {"parts": [{"part": "idle", "duration_s": 1, "rate_per_s": 10, "latency_us": {}},
                          {"part": HTML_NAME, "duration_s": 1, "rate_per_s": 20, "latency_us": {}}],
                "timeline": {"slice_us": 1000000, "offered": "10 20", "refused": {"answered": "0 30", "p50_us": "1000 0"}}}
    return [*(one("a", rate, {"p50": 1000, "p99": 100000}) for rate in (1000, 20000, 10000)), one("b", 200),
            one("c", 300, {"steps": "1024:900 2048:90 10240:9 70000:1"}), one("d", 250, open_loop=schedule)]


def timelines(*counts):
    """A schedule each, of one slice of ten seconds in which so many were offered."""
    return [speed(f"s{i}", 100, open_loop={"parts": [], "timeline": {"slice_us": 10000000, "offered": str(count)}})
            for i, count in enumerate(counts)]


def faults():
    """A cell that held, one that contradicts its promise and one that is not concerned."""
    def cell(strategy, fault, expected, red, runs, example="", **more):
        return {"strategy": strategy, "fault": fault, "expected": expected, "runs": runs, "red": red, "not_counted": 0,
                "seeds": [[1, runs]] if runs else [], "violations": {}, "longest_gap_us": 1250000, "first_after_heal_us": -1, "seed": 5,
                "evidence": "2 holds & <b>", "example": example,
                "timeline": {"step_us": 100000, "sales": [4, 8] * 6, "faults": [{"begin_us": 300000, "heal_us": 900000}]}, **more}
    return {"seed": 5, "runs": 3, "cells": [
        cell("conditional", "hold", "holds", 0, 3, first_after_heal_us=20000),
        cell("redis-fenced", "hold", "holds", 1, 3, f"order 7 {HTML_NAME}"), cell("redis-token", "hold", "breaks", 3, 3),
        cell("none", "hold", "nothing", 0, 0)], "made_on": {"machine": {}, "versions": {}}}


def write_faults(folder):
    os.makedirs(folder)
    with open(os.path.join(folder, "faults.json"), "w", encoding="utf-8") as out:
        json.dump(faults(), out)
    return folder


def write(folder, runs, **settings):
    os.makedirs(folder)
    with open(os.path.join(folder, "results.json"), "w", encoding="utf-8") as out:
        json.dump({"runs": runs, "seed": 7, "machine": {"cpu": HTML_NAME, "cores": 2}, "versions": {"wrk": "4.1.0"},
                   "settings": {"stock": 100, "body": HTML_NAME, **settings}}, out)
    return folder
