// SPDX-License-Identifier: Apache-2.0

// A receiver of OpenTelemetry's profiles, by the collector's own code.
//
//	receiver FILE            writes what a request in a file says to stdout, as JSON
//	receiver -serve DIR [-listen ADDRESS] [-http-port PORT] [-tls CERT,KEY [-client-ca CA]]
//	         [-requests FAULTS] [-connections FAULTS] [-certificates FAULTS -expired CERT,KEY]
//
// The latter listens on two ports, of 127.0.0.1, for gRPC and for HTTP, and says which on stdout, as
// JSON. Each request becomes a file in DIR, N.json, in the order of arrival, and its headers are in
// it. HTTP takes Pyroscope's pushes as well. faults.go says what faults there are.
package main

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"dwarfprof/backends/request"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	_ "google.golang.org/grpc/encoding/gzip" // or senders that compress fail
	"google.golang.org/grpc/metadata"
)

type received struct {
	request.Request
	By      string              `json:"by"`
	Headers map[string][]string `json:"headers"`
}

type receiver struct {
	pprofileotlp.UnimplementedGRPCServer
	directory             string
	requests, connections *faults
	certificates          *faults
	expired               string
	lock                  sync.Mutex
	n                     int
}

func (r *receiver) keep(by string, headers map[string][]string, from pprofileotlp.ExportRequest) error {
	return r.write(received{request.Read(from.Profiles()), by, headers})
}

func (r *receiver) write(what any) error {
	r.lock.Lock()
	defer r.lock.Unlock()
	text, err := json.Marshal(what)
	if err != nil {
		return err
	}
	path := filepath.Join(r.directory, fmt.Sprintf("%d.json", r.n))
	r.n++
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func (r *receiver) Export(ctx context.Context, from pprofileotlp.ExportRequest) (pprofileotlp.ExportResponse, error) {
	headers, _ := metadata.FromIncomingContext(ctx)
	return pprofileotlp.NewExportResponse(), r.keep("grpc", headers, from)
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, from *http.Request) {
	body := io.Reader(from.Body)
	if from.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = unpacked
	}
	data, err := io.ReadAll(body)
	export := pprofileotlp.NewExportRequest()
	if err == nil {
		err = export.UnmarshalProto(data)
	}
	if err == nil && (from.Method != "POST" || from.Header.Get("Content-Type") != "application/x-protobuf") {
		err = fmt.Errorf("%s of %s", from.Method, from.Header.Get("Content-Type"))
	}
	if err == nil {
		err = r.keep("http", from.Header, export)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer, _ := pprofileotlp.NewExportResponse().MarshalProto()
	w.Header().Set("Content-Type", "application/x-protobuf")
	w.Write(answer)
}

func (r *receiver) listen(address string, port int) (net.Listener, int) {
	listener, err := net.Listen("tcp", fmt.Sprintf("%s:%d", address, port))
	if err != nil {
		log.Fatal(err)
	}
	return &badListener{listener, r.connections}, listener.Addr().(*net.TCPAddr).Port
}

func load(files string) *tls.Certificate {
	certificate, key, _ := strings.Cut(files, ",")
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		log.Fatal(err)
	}
	return &pair
}

func (r *receiver) configure(files, clientCA string) *tls.Config {
	if files == "" {
		return nil
	}
	pair := load(files)
	expired := pair
	if r.expired != "" {
		expired = load(r.expired)
	}
	config := &tls.Config{SessionTicketsDisabled: r.expired != "", GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		word := r.certificates.next()
		r.note("certificates", word)
		if word == "expired" {
			return expired, nil
		}
		return pair, nil
	}}
	if clientCA != "" {
		text, err := os.ReadFile(clientCA)
		if err != nil {
			log.Fatal(err)
		}
		config.ClientCAs = x509.NewCertPool()
		config.ClientCAs.AppendCertsFromPEM(text)
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return config
}

func serve(r *receiver, address string, port int, config *tls.Config) {
	byGRPC, portGRPC := r.listen(address, 0)
	byHTTP, portHTTP := r.listen(address, port)
	options := []grpc.ServerOption{grpc.UnaryInterceptor(r.disturbGRPC)}
	if config != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(config)))
	}
	server := grpc.NewServer(options...)
	pprofileotlp.RegisterGRPCServer(server, r)
	mux := http.NewServeMux()
	mux.Handle("/v1development/profiles", r)
	registerPyroscope(mux, r)
	web := &http.Server{Handler: r.disturbHTTP(mux), TLSConfig: config, ErrorLog: log.New(io.Discard, "", 0)}
	// Or one that was good would stay so.
	web.SetKeepAlivesEnabled(r.connections.random == nil)
	go server.Serve(byGRPC)
	fmt.Printf("{\"grpc\": %d, \"http\": %d}\n", portGRPC, portHTTP)
	if config != nil {
		log.Fatal(web.ServeTLS(byHTTP, "", ""))
	}
	log.Fatal(web.Serve(byHTTP))
}

func main() {
	directory := flag.String("serve", "", "")
	files := flag.String("tls", "", "")
	clientCA := flag.String("client-ca", "", "")
	address := flag.String("listen", "127.0.0.1", "")
	port := flag.Int("http-port", 0, "")
	badRequests := flag.String("requests", "", "")
	badConnections := flag.String("connections", "", "")
	expired := flag.String("expired", "", "")
	badCertificates := flag.String("certificates", "", "")
	flag.Parse()
	if *directory != "" {
		r := &receiver{directory: *directory, requests: newFaults(*badRequests, *directory, answers),
			connections:  newFaults(*badConnections, *directory, connections),
			certificates: newFaults(*badCertificates, *directory, certificates), expired: *expired}
		serve(r, *address, *port, r.configure(*files, *clientCA))
	}
	data, err := os.ReadFile(flag.Arg(0))
	if err != nil {
		log.Fatal(err)
	}
	from := pprofileotlp.NewExportRequest()
	if err := from.UnmarshalProto(data); err != nil {
		log.Fatal(err)
	}
	json.NewEncoder(os.Stdout).Encode(request.Read(from.Profiles()))
}
