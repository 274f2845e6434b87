"""A real browser for tests: Debian's Chromium, without a window, that reaches nothing but this machine."""

from __future__ import annotations

import contextlib
import shutil

import pytest

FLAGS = (
    "headless=new no-sandbox disable-gpu disable-quic no-first-run disable-background-networking "
    "disable-component-update disable-sync disable-dev-shm-usage hide-scrollbars force-color-profile=srgb"
).split()


@contextlib.contextmanager
def browser(folder, width=1280, height=1400, dark=False):
    """A browser with an empty profile, and a log of what its console says."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.fail("the page is tested in Chromium: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"user-data-dir={folder}", f"window-size={width},{height}"):
        options.add_argument(f"--{flag}")
    if dark:
        options.add_argument("--force-dark-mode")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    found = webdriver.Chrome(options, Service(driver))
    try:
        yield found
    finally:
        found.quit()


def console(found):
    """What the console has said since it was last asked; a favicon that is not there does not count."""
    return [entry["message"] for entry in found.get_log("browser") if "favicon" not in entry["message"]]
