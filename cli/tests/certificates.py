# SPDX-License-Identifier: Apache-2.0
"""Certificates of servers at 127.0.0.1, for tests. Each is PATH.crt, with its key PATH.key; named together, as ci/backends takes them."""
import os
import subprocess


def run(*command):
    subprocess.run(["openssl", *command], check=True, capture_output=True)


def files(path):
    return f"{path}.crt,{path}.key"


def make(path):
    run("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={os.path.basename(path)}",
        "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", path + ".key", "-out", path + ".crt")
    return files(path)


def write(path, text):
    with open(path, "w", encoding="utf-8") as to:
        to.write(text)


def make_expired(path):
    """The dates of a certificate are a matter of OpenSSL's authority, before its version 3.2."""
    make(path)
    write(path + ".index", "")
    write(path + ".serial", "01\n")
    write(path + ".cnf", f"[ca]\ndefault_ca=x\n[x]\ndatabase={path}.index\nserial={path}.serial\n"
                         f"new_certs_dir={os.path.dirname(path)}\ndefault_md=sha256\npolicy=p\nx509_extensions=e\n"
                         "[p]\ncommonName=supplied\n[e]\nsubjectAltName=IP:127.0.0.1\nbasicConstraints=CA:TRUE\n")
    run("req", "-new", "-key", path + ".key", "-subj", f"/CN={os.path.basename(path)}", "-out", path + ".csr")
    run("ca", "-batch", "-selfsign", "-config", path + ".cnf", "-in", path + ".csr", "-keyfile", path + ".key", "-startdate",
        "20200101000000Z", "-enddate", "20200102000000Z", "-notext", "-out", path + ".crt")
    return files(path)


def expiring(path, plan):
    """Options of a receiver of which each connection has a good certificate or one that has expired, by a plan; and the file of
    those to trust."""
    good, expired = make(path + "-good"), make_expired(path + "-expired")
    trusted = ""
    for name in good, expired:
        with open(name.split(",")[0], encoding="utf-8") as file:
            trusted += file.read()
    write(path + "-trusted.crt", trusted)
    return ("-tls", good, "-expired", expired, "-certificates", plan), path + "-trusted.crt"
