package gcs_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/tofureg/tofureg/contrib/gcs"
	"github.com/tofureg/tofureg/contrib/gcs/internal/must"
	"github.com/tofureg/tofureg/transport"
)

const token = "ya29.s3cr3t-t0ken"

// A server is fake-gcs-server with the bucket "mirror", behind a proxy that does what it does not.
type server struct {
	*httptest.Server
	proxy   *proxy
	account *google.Credentials
}

// store returns a store for the bucket.
func (s server) store(prefix string) *gcs.Store {
	return &gcs.Store{Bucket: "mirror", Prefix: prefix, Credentials: s.account, Endpoint: s.URL, Transport: s.transport()}
}

func (s server) transport() *transport.Settings { return &transport.Settings{HTTP: s.Client()} }

var key = sync.OnceValue(func() *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return k
})

// account returns credentials of a service account with a token.
func account(t *testing.T, secret string) *google.Credentials {
	t.Helper()
	der := must.Get(x509.MarshalPKCS8PrivateKey(key()))(t)
	file := must.Get(json.Marshal(map[string]string{
		"type": "service_account", "client_email": "mirror@project.iam.gserviceaccount.com",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), "token_uri": "https://oauth2.googleapis.com/token",
	}))(t)
	return &google.Credentials{TokenSource: oauth2.StaticTokenSource(&oauth2.Token{AccessToken: secret}), JSON: file}
}

// start runs the program fake-gcs-server (github.com/fsouza/fake-gcs-server) with files in memory.
func start(t *testing.T) server {
	t.Helper()
	program, err := exec.LookPath("fake-gcs-server")
	if err != nil {
		t.Skip("skipped: fake-gcs-server is not installed")
	}
	target := &url.URL{Scheme: "http"}
	for try := 0; target.Host == ""; try++ {
		target.Host = run(t, program)
		if try == 5 {
			t.Fatal("fake-gcs-server does not start")
		}
	}
	p := &proxy{to: httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = "storage.googleapis.com"
	}}}
	s := server{httptest.NewUnstartedServer(p), p, account(t, token)}
	s.EnableHTTP2 = true // as the server of Google
	s.StartTLS()
	t.Cleanup(s.Close)
	s.bucket(t, "mirror")
	return s
}

// run starts the program at a free port, which it cannot choose itself. It returns "" if another process was faster.
func run(t *testing.T, program string) (address string) {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	address = l.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	l.Close()
	ctx, stop := context.WithCancel(context.Background())
	var log bytes.Buffer
	cmd := exec.CommandContext(ctx, program, "-backend", "memory", "-scheme", "http", "-host", "127.0.0.1", "-port", port, "-log-level", "error")
	cmd.Stdout, cmd.Stderr = &log, &log
	must.Do(t, cmd.Start())
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() { stop(); <-ended })
	for tick := time.Tick(20 * time.Millisecond); ; {
		select {
		case <-tick:
		case <-ended:
			t.Logf("fake-gcs-server: %s", &log)
			return ""
		}
		if resp, err := http.Get("http://" + address + "/_internal/healthcheck"); err == nil {
			resp.Body.Close()
			return address
		}
	}
}

// bucket creates a bucket that keeps old generations.
func (s server) bucket(t *testing.T, name string) {
	t.Helper()
	r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/storage/v1/b?project=test", strings.NewReader(fmt.Sprintf(`{"name":%q,"versioning":{"enabled":true}}`, name))))(t)
	r.Header.Set("Authorization", "Bearer "+token)
	resp := must.Get(s.Client().Do(r))(t)
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("create bucket %s: %s", name, resp.Status)
	}
}

// proxy obeys the condition of DELETE, which fake-gcs-server ignores, answers it with 204, and knows one token and the signatures of one
// key, where fake-gcs-server looks at none.
type proxy struct {
	to      httputil.ReverseProxy
	changes sync.Mutex
	public  bool                                              // whether requests without a token are permitted
	before  func(w http.ResponseWriter, r *http.Request) bool // if not nil, whether it has answered
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p.before != nil && p.before(w, r) {
		return
	}
	switch got := r.Header.Get("Authorization"); {
	case got == "Bearer "+token:
	case got != "":
		refuse(w, http.StatusUnauthorized, "Invalid Credentials")
		return
	case r.URL.Query().Has("X-Goog-Signature"):
		if err := checkSignature(r); err != nil {
			refuse(w, http.StatusForbidden, "SignatureDoesNotMatch")
			return
		}
	case !p.public:
		refuse(w, http.StatusUnauthorized, "Anonymous caller does not have storage.objects.get access")
		return
	}
	if r.Method == http.MethodPost || r.Method == http.MethodDelete {
		p.changes.Lock()
		defer p.changes.Unlock()
	}
	if was := r.URL.Query().Get("ifGenerationMatch"); r.Method == http.MethodDelete && was != "" {
		look, answer := r.Clone(r.Context()), httptest.NewRecorder()
		look.Method, look.URL.RawQuery = http.MethodGet, ""
		p.to.ServeHTTP(answer, look)
		var object struct{ Generation string }
		if err := json.Unmarshal(answer.Body.Bytes(), &object); err != nil || answer.Code == http.StatusOK && object.Generation != was {
			refuse(w, http.StatusPreconditionFailed, "At least one of the pre-conditions you specified did not hold.")
			return
		}
	}
	if r.Method == http.MethodDelete {
		w = deleted{w}
	}
	p.to.ServeHTTP(w, r)
}

// deleted is an answer to DELETE with the status 204, as that of Google, instead of 200 with content.
type deleted struct{ http.ResponseWriter }

func (d deleted) WriteHeader(status int) {
	if status == http.StatusOK {
		d.Header().Del("Content-Length")
		status = http.StatusNoContent
	}
	d.ResponseWriter.WriteHeader(status)
}

func (d deleted) Write(p []byte) (int, error) {
	if n, err := d.ResponseWriter.Write(p); err != http.ErrBodyNotAllowed {
		return n, err
	}
	return len(p), nil
}

// refuse answers as the JSON API does.
func refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":{"code":%d,"message":%q,"errors":[{"domain":"global"}]}}`, status, message)
}
