# SPDX-License-Identifier: Apache-2.0
"""A site as Flask's users write them: templates, JSON, a database, forms, sessions, errors."""
import functools
import json
import re
import sqlite3
import sys

import flask
import jinja2

app = flask.Flask(__name__)
app.secret_key = "for cookies of a test"

PAGE = """<!doctype html>
<title>{{ title }}</title>
{% macro row(article) %}<li class="{{ loop_class }}"><a href="{{ url_for('article', key=article.key) }}">
{{ article.title | title }}</a> {{ article.words | join(', ') | truncate(60) }}</li>{% endmacro %}
<ul>{% for article in articles if article.key % 3 %}{{ row(article) }}{% endfor %}</ul>
"""
app.jinja_loader = jinja2.DictLoader({"page.html": PAGE})


@functools.lru_cache(maxsize=None)
def database():
    made = sqlite3.connect(":memory:", check_same_thread=False)
    made.execute("CREATE TABLE article (key INTEGER PRIMARY KEY, title TEXT, body TEXT)")
    made.executemany("INSERT INTO article VALUES (?, ?, ?)",
                     ((i, f"article number {i}", f"words of {i} " * 20) for i in range(60)))
    return made


class Article:
    def __init__(self, key, title, body):
        self.key, self.title, self.body = key, title, body

    @property
    def words(self):
        return sorted(set(re.findall(r"\w+", self.body)), key=lambda word: (len(word), word))


def counted(view):
    """A decorator, as most sites have some."""
    @functools.wraps(view)
    def wrapper(*args, **names):
        flask.session["seen"] = flask.session.get("seen", 0) + 1
        return view(*args, **names)
    return wrapper


def articles():
    for row in database().execute("SELECT key, title, body FROM article ORDER BY title DESC"):
        yield Article(*row)


@app.route("/")
@counted
def index():
    return flask.render_template("page.html", title="All", articles=list(articles()), loop_class="plain")


@app.route("/article/<int:key>")
def article(key):
    found = [a for a in articles() if a.key == key]
    if not found:
        flask.abort(404)
    return flask.jsonify(title=found[0].title, words=found[0].words, nested=nested(12))


def nested(depth):
    return {"depth": depth, "inner": nested(depth - 1)} if depth else json.loads("[1, 2, 3]")


@app.errorhandler(404)
def missing(error):
    return {"error": str(error)}, 404


def visit():
    """Without a server: one thread, which is always busy."""
    client = app.test_client()
    while True:
        client.get("/")
        client.get("/article/3")
        client.get("/article/300")


if __name__ == "__main__":
    if sys.argv[1] == "--visit":
        visit()
    app.run(port=int(sys.argv[1]), threaded=True)
