#!/usr/bin/python3
"""The README's moving picture: the page's race of two locks, of which a holder is stopped, as a WebP.

    race_picture.py URL FILE    with ./scripts/serve.sh at the URL; needs chromium, chromium-driver, python3-selenium, python3-pil
"""
import io
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/page"))
from browser import Browser, wait_for  # noqa: E402
from PIL import Image  # noqa: E402

RACE = "#race=redis-token,redis-fenced,20,100,3,stop"
WIDTH, HEIGHT = 900, 1200
GROUND = "#f6f7f9" # the page's
END_MS, SHORTEST_MS = 4000, 20


def film(browser):
    """[(what was to be seen, since when)] to the end of the race."""
    frames, running = [], True
    while running:
        running = browser.run("return document.querySelector('#race-start').disabled")
        shot = browser.find("#lanes").screenshot_as_png
        if not frames or shot != frames[-1][0]:
            frames.append((shot, time.monotonic()))
    return frames


def main(url, file):
    browser = Browser()
    try:
        browser.driver.set_window_size(WIDTH, HEIGHT)
        browser.driver.get(f"{url.rstrip('/')}/{RACE}")
        wait_for("the race", lambda: browser.run("return document.querySelector('#race-start').disabled"))
        frames = film(browser)
    finally:
        browser.quit()
    shots = [Image.open(io.BytesIO(shot)).convert("RGB") for shot, _ in frames]
    images = [Image.new("RGB", [max(sizes) for sizes in zip(*(shot.size for shot in shots))], GROUND) for _ in shots]
    for image, shot in zip(images, shots):
        image.paste(shot)
    ends = [since for _, since in frames[1:]]
    lasts = [max(SHORTEST_MS, round((end - since) * 1000)) for (_, since), end in zip(frames, ends)] + [END_MS]
    images[0].save(file, save_all=True, append_images=images[1:], duration=lasts, loop=0, lossless=True, method=6)
    print(f"{file}: {len(images)} pictures of {images[0].width}x{images[0].height}, {sum(lasts) / 1000:.1f} s")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
