"""The two small pages that stand before the page: log in, and no token."""

from __future__ import annotations

from html import escape

from overread.core.notice import NOTICE

_HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>overread</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; }
main { width: min(22rem, 90vw); }
label { display: block; margin: 1rem 0 .25rem; }
input, button { font: inherit; width: 100%; box-sizing: border-box; padding: .5rem .6rem; }
button { margin-top: 1.25rem; }
.wrong { color: light-dark(#a3260f, #ffb4a2); }
small { display: block; margin-top: 2rem; opacity: .8; }
</style></head><body><main><h1>overread</h1>
"""
_FOOT = f"<small>{NOTICE}</small></main></body></html>"

LOGIN = (
    _HEAD
    + """<form method="post" action="/login">
<label for="name">Name</label><input id="name" name="name" autocomplete="username" autofocus>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password">
<!--told--><button>Log in</button></form>
"""
    + _FOOT
)
NO_TOKEN = (
    _HEAD
    + """<p>This page opens with the address that <code>overread view</code> printed in the
terminal: it holds a token that lets you in, and nobody else.</p>
"""
    + _FOOT
)


def fill_message(page: str, told: str) -> str:
    """The page with a sentence on it."""
    line = f'<p class="wrong" role="alert">{escape(told)}</p>' if told else ""
    return page.replace("<!--told-->", line)
