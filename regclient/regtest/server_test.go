package regtest_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/regclient/regtest"
)

func serve(t *testing.T, reg *regtest.Registry) *regtest.Server {
	t.Helper()
	srv := must.Get(reg.ServeTLS())(t)
	t.Cleanup(srv.Close)
	return srv
}

func TestServeTLS(t *testing.T) {
	t.Parallel()
	reg, rel := start()
	srv := serve(t, reg)
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(srv.CertPEM) || !pool.Equal(srv.CertPool) {
		t.Error("the pool and the PEM differ")
	}
	// By each of its names, the registry refers to itself by that name.
	for _, origin := range []string{srv.URL, "https://" + srv.Addr, strings.Replace(srv.URL, "localhost", "127.0.0.1", 1), base} {
		object(t, srv.Client(), origin+"/.well-known/terraform.json")
		doc := object(t, srv.Client(), origin+"/v1/providers/acme/alpha/1.0.0/download/linux/amd64")
		link := doc["download_url"].(string)
		if !strings.HasPrefix(link, origin+"/") {
			t.Errorf("asked at %s: download_url is %s", origin, link)
		}
		a := get(t, srv.Client(), link, "Range", "bytes=10-")
		if a.StatusCode != 206 || !bytes.Equal(a.body, content(t, rel, "linux_amd64")[10:]) || a.ProtoMajor != 2 {
			t.Errorf("GET %s: %s %s", link, a.Proto, a.Status)
		}
	}
	if _, err := try(t.Context(), &http.Client{Transport: &http.Transport{}}, "GET", srv.URL); err == nil {
		t.Error("a client that does not know the authority trusts it")
	}
	srv.Close()
	if _, err := try(t.Context(), srv.Client(), "GET", srv.URL); err == nil {
		t.Error("the server answers after Close")
	}
}

// TestServeFaults: bodies break off on real connections as they do in memory.
func TestServeFaults(t *testing.T) {
	t.Parallel()
	for _, http2 := range []bool{true, false} {
		reg, rel := start()
		srv := serve(t, reg)
		client := srv.Client()
		if !http2 {
			tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: srv.CertPool}}
			client.Transport = tr
			t.Cleanup(tr.CloseIdleConnections)
		}
		u := strings.Replace(archiveURL(t, reg), base, srv.URL, 1)
		whole := content(t, rel, "linux_amd64")

		reg.AddFault(regtest.Fault{Break: "cut", After: 100})
		if a := get(t, client, u); a.err == nil || !bytes.Equal(a.body, whole[:100]) || a.ContentLength != int64(len(whole)) {
			t.Errorf("cut: %d bytes, %v", len(a.body), a.err)
		}
		reg.ClearFaults()
		reg.AddFault(regtest.Fault{Break: "short", After: 100})
		if a := get(t, client, u); a.err != nil || !bytes.Equal(a.body, whole[:100]) {
			t.Errorf("short: %d bytes, %v", len(a.body), a.err)
		}
		reg.ClearFaults()
		reg.AddFault(regtest.Fault{Drop: true})
		if _, err := try(t.Context(), client, "GET", u); err == nil {
			t.Error("dropped: an answer")
		}
		reg.ClearFaults()
		reg.AddFault(regtest.Fault{Header: http.Header{"Content-Length": nil, "Content-Type": nil}})
		if a := get(t, client, u); a.ContentLength != -1 || a.Header["Content-Type"] != nil || !bytes.Equal(a.body, whole) {
			t.Errorf("no size: %v %d bytes", a.Header, len(a.body))
		}
		reg.ClearFaults()
		reg.AddFault(regtest.Fault{Header: http.Header{"Content-Length": {"1000000"}}})
		if a := get(t, client, u); a.err == nil || !bytes.Equal(a.body, whole) {
			t.Errorf("wrong size: %d bytes, %v", len(a.body), a.err)
		}
		reg.ClearFaults()
		reg.AddFault(regtest.Fault{Break: "stall", After: 100})
		stalled(t, client, u, whole[:100])
	}
}

// stalled reads a body of which nothing more comes after want. It comes over a socket, and
// who reads from one waits in real time.
func stalled(t *testing.T, client *http.Client, u string, want []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req := must.Get(http.NewRequestWithContext(ctx, "GET", u, nil))(t)
	resp := must.Get(client.Do(req))(t)
	defer resp.Body.Close()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(resp.Body, got); err != nil || !bytes.Equal(got, want) {
		t.Errorf("before the stall: %v", err)
	}
	cancel()
	if n, err := resp.Body.Read(make([]byte, 1)); n > 0 || err == nil {
		t.Errorf("after the stall: %d bytes, %v", n, err)
	}
}
