# SPDX-License-Identifier: Apache-2.0
"""Real programs in languages, at work: each is a context that gives the PID to profile.

What they need is installed by `ci/setup languages`; without it, they raise Missing.
"""
import contextlib
import glob
import http.client
import os
import shutil
import socket
import subprocess
import time

import workloads

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.join(HERE, "languages")
PINNED = os.path.join(HERE, "../ci/languages")
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "dwarfprof-tests/languages")
PYTHON = os.path.join(CACHE, "python/bin")
WORDPRESS = "/usr/share/wordpress"

verify, Missing = workloads.verify, workloads.Missing
# Of files that a build of Java compiles.
N_CLASSES = 400

FPM = """
[global]
error_log = {0}/fpm.log
daemonize = no
[site]
user = root
group = root
listen = {0}/fpm.sock
pm = static
pm.max_children = 2
"""

NGINX = """
daemon off; pid {0}/nginx.pid; error_log {0}/nginx.log; worker_processes 1; user root;
events {{ }}
http {{
  access_log off; client_body_temp_path {0}/t; proxy_temp_path {0}/t; fastcgi_temp_path {0}/t;
  uwsgi_temp_path {0}/t; scgi_temp_path {0}/t;
  server {{
    listen 127.0.0.1:{1}; root {0}/site; index index.php;
    location ~ \\.php$ {{
      # Not /etc/nginx/fastcgi_params: some have a host without its port, and WordPress sends on from there.
      fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name; fastcgi_param SCRIPT_NAME $fastcgi_script_name;
      fastcgi_param REQUEST_METHOD $request_method; fastcgi_param REQUEST_URI $request_uri;
      fastcgi_param QUERY_STRING $query_string; fastcgi_param SERVER_PROTOCOL $server_protocol;
      fastcgi_param SERVER_NAME $server_name; fastcgi_param SERVER_PORT $server_port;
      fastcgi_param REMOTE_ADDR $remote_addr; fastcgi_param CONTENT_TYPE $content_type;
      fastcgi_param CONTENT_LENGTH $content_length;
      fastcgi_pass unix:{0}/fpm.sock;
    }}
  }}
}}
"""

WP_CONFIG = """<?php
define('DB_NAME', 'wordpress'); define('DB_USER', 'site'); define('DB_PASSWORD', 'site');
define('DB_HOST', 'localhost:{0}/db/socket'); define('DB_CHARSET', 'utf8mb4'); define('DB_COLLATE', '');
define('DISABLE_WP_CRON', true); define('WP_HTTP_BLOCK_EXTERNAL', true);
foreach (['AUTH_KEY', 'SECURE_AUTH_KEY', 'LOGGED_IN_KEY', 'NONCE_KEY'] as $key) define($key, 'of a test');
$table_prefix = 'wp_';
if (!defined('ABSPATH')) define('ABSPATH', __DIR__ . '/');
require_once ABSPATH . 'wp-settings.php';
"""

WP_INSTALL = """
define('WP_INSTALLING', true); $_SERVER['HTTP_HOST'] = '127.0.0.1:{1}'; $_SERVER['REQUEST_URI'] = '/';
require '{0}/site/wp-load.php'; require ABSPATH . 'wp-admin/includes/upgrade.php';
wp_install('A site', 'admin', 'admin@example.org', true, '', 'secret');
for ($i = 0; $i < 20; $i++)
    wp_insert_post(['post_title' => "Post $i", 'post_status' => 'publish', 'post_content' => str_repeat(
        "<!-- wp:paragraph --><p>Words \\"of\\" post $i -- and (more).</p><!-- /wp:paragraph -->\\n", 10)]);
"""

WEBPACK = """
module.exports = {{ mode: 'production', entry: '{1}/index.js', cache: false, performance: false,
    devtool: 'source-map', output: {{ path: '{0}/packed' }}, resolve: {{ modules: ['{2}'] }} }};
"""

CLASS = """package generated;
import java.util.*;
import java.util.function.*;
import java.util.stream.*;
public class C{0} {{
{1}
    public int call() {{ return new C{2}().m3(List.of("a", "b"), new HashMap<>()).size(); }}
}}
"""

METHOD = """
    public <T extends Comparable<T>> List<T> m{0}(Collection<? extends T> c, Map<String, Function<T, Integer>> by) {{
        return c.stream().filter(x -> by.get("k{0}").apply(x) > {0}).map(x -> (T) x)
            .sorted(Comparator.comparing(x -> x.hashCode() * {1})).collect(Collectors.toList());
    }}"""


def installed(path):
    if not os.path.exists(path):
        raise Missing(path)
    return path


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def answers(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        # WordPress answers with nothing if it has no theme.
        return response.status == 200 and response.read() != b""
    except OSError:
        return False
    finally:
        connection.close()


@contextlib.contextmanager
def requests(port, *paths):
    """Clients ask for each of the paths, from when the server answers until the block ends."""
    end = time.monotonic() + 60
    for path in paths:
        while not answers(port, path):
            assert time.monotonic() < end, f"no answer from port {port}, {path}"
            time.sleep(0.1)
    with contextlib.ExitStack() as clients:
        for path in paths:
            clients.enter_context(verify.running(verify.tool("ab"), "-q", "-r", "-n", "100000000", "-c", "2",
                                                 f"http://127.0.0.1:{port}{path}"))
        time.sleep(2)
        yield


@contextlib.contextmanager
def flask(_):
    port = free_port()
    with verify.running(installed(f"{PYTHON}/python"), f"{SOURCES}/flask_app.py", str(port)) as pid, \
            requests(port, "/", "/article/3"):
        yield pid


@contextlib.contextmanager
def sinatra(_):
    port = free_port()
    installed("/usr/share/doc/ruby-sinatra")
    with verify.running(verify.tool("ruby"), f"{SOURCES}/sinatra_app.rb", str(port)) as pid, \
            requests(port, "/", "/article/3"):
        yield pid


@contextlib.contextmanager
def database(directory):
    """MariaDB, with the database of a site."""
    server = verify.tool("mariadbd", "/usr/sbin/mariadbd")
    data = os.path.join(directory, "db")
    os.mkdir(data)
    shutil.chown(data, "mysql")
    subprocess.run([verify.tool("mariadb-install-db"), "--no-defaults", f"--datadir={data}", "--user=mysql",
                    "--auth-root-authentication-method=normal", "--skip-test-db"], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with verify.running(server, "--no-defaults", f"--datadir={data}", f"--socket={data}/socket", "--user=mysql",
                        "--skip-networking"):
        verify.wait_for(f"{data}/socket")
        subprocess.run([verify.tool("mariadb"), "--no-defaults", "-S", f"{data}/socket", "-u", "root", "-e",
                        "CREATE DATABASE wordpress; CREATE USER site IDENTIFIED BY 'site'; "
                        "GRANT ALL ON wordpress.* TO site"], check=True)
        yield


@contextlib.contextmanager
def wordpress(directory):
    fpm = next(iter(sorted(glob.glob("/usr/sbin/php-fpm*"))), None)
    if not fpm:
        raise Missing("php-fpm")
    port, site = free_port(), os.path.join(directory, "site")
    # Its scripts look for the configuration where they are themselves.
    shutil.copytree(installed(WORDPRESS), site, ignore=shutil.ignore_patterns("wp-config.php"))
    for name, text in ("site/wp-config.php", WP_CONFIG), ("fpm.conf", FPM), ("nginx.conf", NGINX):
        with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
            file.write(text.format(directory, port))
    with database(directory):
        subprocess.run([verify.tool("php"), "-d", "sendmail_path=/bin/true", "-r", WP_INSTALL.format(directory, port)],
                       check=True, stdout=subprocess.DEVNULL)
        with verify.running(fpm, "-F", "-R", "-y", f"{directory}/fpm.conf") as pid, \
                verify.running(verify.tool("nginx", "/usr/sbin/nginx"), "-c", f"{directory}/nginx.conf"), \
                requests(port, "/"):
            yield pid


@contextlib.contextmanager
def webpack(directory):
    modules = os.path.abspath(installed(f"{PINNED}/node_modules"))
    with open(f"{directory}/webpack.config.js", "w", encoding="utf-8") as file:
        file.write(WEBPACK.format(directory, SOURCES, modules))
    with verify.again_and_again("node", f"{modules}/webpack/bin/webpack.js", "-c", f"{directory}/webpack.config.js") as pid:
        time.sleep(2)
        yield pid


@contextlib.contextmanager
def npm(directory):
    """Installs what webpack packs, from npm's own cache."""
    installed(f"{PINNED}/node_modules")
    for name in "package.json", "package-lock.json":
        shutil.copy(f"{PINNED}/{name}", directory)
    with verify.again_and_again("npm", "ci", "--prefix", directory, "--prefer-offline", "--ignore-scripts", "--no-audit",
                                "--no-fund") as pid:
        time.sleep(2)
        yield pid


def write_classes(directory):
    """Sources in which javac has types to infer. Returns their paths."""
    os.makedirs(directory)
    paths = []
    for i in range(N_CLASSES):
        methods = "".join(METHOD.format(m, m + 1) for m in range(30))
        paths.append(os.path.join(directory, f"C{i}.java"))
        with open(paths[-1], "w", encoding="utf-8") as file:
            file.write(CLASS.format(i, methods, (i + 1) % N_CLASSES))
    return paths


@contextlib.contextmanager
def javac(directory):
    paths = write_classes(f"{directory}/sources")
    with verify.again_and_again("javac", "-nowarn", "-d", f"{directory}/classes", *paths) as pid:
        time.sleep(2)
        yield pid


@contextlib.contextmanager
def maven(directory):
    """Without the network: `ci/setup languages` has fetched its plugins."""
    installed(f"{CACHE}/java")
    shutil.copy(f"{PINNED}/pom.xml", directory)
    write_classes(f"{directory}/src/main/java/generated")
    with verify.again_and_again("mvn", "-o", "-q", "-B", "-f", directory, "clean", "compile") as pid:
        time.sleep(2)
        yield pid


# name: (language, as frames have it; how to run it; the least share of samples with its frames, which threads
# of a collector, a compiler, or that begin or end have not; and the most without a name for code that is there,
# or that is gone). PHP's regular expressions are code of PCRE2, for which nobody has names.
PROGRAMS = {
    "Flask, ab": ("python", flask, 0.90, 0.002, 0.005),
    "Sinatra on Puma, ab": ("ruby", sinatra, 0.97, 0.002, 0.005),
    "WordPress on php-fpm, ab": ("php", wordpress, 0.90, 0.03, 0.5),
    "npm ci": ("javascript", npm, 0.10, 0.02, 0.005),
    "webpack": ("javascript", webpack, 0.30, 0.06, 0.005),
    "javac": ("java", javac, 0.25, 0.02, 0.005),
    "mvn compile": ("java", maven, 0.25, 0.02, 0.005),
}
