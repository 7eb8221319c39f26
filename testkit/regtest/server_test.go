package regtest_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/internal/testing/terraformtest"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/verify/checksum"
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

		for _, test := range []struct {
			fault    regtest.Fault
			body     []byte
			complete bool
			stated   int // Content-Length
		}{
			{regtest.Fault{Break: "cut", After: 100}, whole[:100], false, len(whole)},
			{regtest.Fault{Break: "short", After: 100}, whole[:100], true, 100},
			{regtest.Fault{Header: http.Header{"Content-Length": nil, "Content-Type": nil}}, whole, true, -1},
			{regtest.Fault{Header: http.Header{"Content-Length": {"1000000"}}}, whole, false, 1000000},
		} {
			reg.AddFault(test.fault)
			a := get(t, client, u)
			if !bytes.Equal(a.body, test.body) || (a.err == nil) != test.complete || a.ContentLength != int64(test.stated) {
				t.Errorf("%+v: %d bytes of %d, %v; want %d of %d", test.fault, len(a.body), a.ContentLength, a.err, len(test.body), test.stated)
			}
			if _, typed := a.Header["Content-Type"]; typed == (test.stated == -1) {
				t.Errorf("%+v: header %v", test.fault, a.Header)
			}
			reg.ClearFaults()
		}
		reg.AddFault(regtest.Fault{Drop: true})
		if _, err := try(t.Context(), client, "GET", u); err == nil {
			t.Error("dropped: an answer")
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

// TestInit has the real clients install from the registry, in all ways in which
// the metadata can refer to the files.
func TestInit(t *testing.T) {
	t.Parallel()
	terraformtest.Each(t, func(t *testing.T, program string) {
		for kind, p := range map[string]regtest.Provider{
			"plain":         {},
			"deflated":      {Deflate: true, Files: map[string]string{"LICENSE": "free\n", "docs/": ""}},
			"large, RSA":    {Size: 5 << 20, Keys: []*regtest.Key{regtest.NewKey(regtest.KeyOptions{RSABits: 2048, Subkey: true})}},
			"relative":      {URLs: "relative", PackageHashes: true},
			"opaque":        {URLs: "opaque"},
			"other origin":  {Origin: "https://files.example.com"},
			"root-relative": {URLs: "root-relative", Version: "1.2.0+meta"},
		} {
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				initialise(t, program, p)
			})
		}
	})
}

// initialise runs the init command for one provider and checks what it leaves.
func initialise(t *testing.T, program string, p regtest.Provider) {
	reg := regtest.New("registry.example.com")
	p.Address = "acme/alpha"
	here := addrs.CurrentPlatform().String()
	p.Platforms = []string{here, "plan9_mips"}
	rel := reg.AddProvider(p)
	key := reg.Key()
	if p.Keys != nil {
		key = p.Keys[0]
	}
	reg.Require("s3cret", regtest.Metadata)
	srv := serve(t, reg)

	project := terraformtest.New(t, program)
	project.Trust(t, srv.CertPEM)
	project.Require(t, map[string]string{srv.Addr + "/acme/alpha": cmp.Or(p.Version, "1.0.0")})
	project.Configure(t, fmt.Sprintf("credentials %q {\n  token = \"s3cret\"\n}\n", srv.Addr))
	out := project.Init(t)

	if want := "key ID " + key.Public().ID; !strings.Contains(out, want) {
		t.Errorf("the output does not have %q:\n%s", want, out)
	}
	lock := project.Read(t, ".terraform.lock.hcl")
	// The client hashes what it has unpacked, where directory entries are gone.
	archive := rel.Archive(here)
	_, tree, err := checksum.H1Zip(t.Context(), archive, archive.Size(), checksum.Limits{})
	must.Do(t, err)
	for _, want := range []string{tree.String(), rel.ZH(here).String(), rel.ZH("plan9_mips").String(), `"` + srv.Addr + `/acme/alpha"`} {
		if !strings.Contains(lock, want) {
			t.Errorf("the lock file does not have %s:\n%s", want, lock)
		}
	}
	for _, q := range reg.Requests() {
		if q.Kind&(regtest.Sums|regtest.Signature|regtest.Archive) != 0 && q.Authorization != "" {
			t.Errorf("%v", q)
		}
	}
}

// TestMirrorInit has the real clients install through the network mirror, in all
// ways in which it can refer to archives and state hashes.
func TestMirrorInit(t *testing.T) {
	t.Parallel()
	terraformtest.Each(t, func(t *testing.T, program string) {
		for kind, m := range map[string]regtest.Mirror{
			"plain":              {},
			"zh, in a directory": {Hashes: []string{"zh"}, URLs: "download"},
			"h1, elsewhere":      {Hashes: []string{"h1"}, URLs: "name", Path: "/providers", Origin: "https://files.example.com"},
			"opaque":             {Hashes: []string{"h9", "zh"}, URLs: "opaque", Query: "signature=5eed"},
			"over http":          {Origin: "http://files.example.com"},
			"no hashes":          {NoHashes: true, URLs: "root-relative"},
			"empty hashes":       {Hashes: []string{}, URLs: "relative"},
			"hosts ignored":      {IgnoreHost: true},
		} {
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				mirror(t, program, m)
			})
		}
	})
}

// mirror runs the init command for a provider that only the mirror has.
func mirror(t *testing.T, program string, m regtest.Mirror) {
	host := "bücher.example.com"
	reg := regtest.New(host)
	reg.Mirror = m
	here := addrs.CurrentPlatform().String()
	rel := reg.AddProvider(regtest.Provider{Address: "acme/alpha", Platforms: []string{here, "plan9_mips"}})
	reg.Require("s3cret", regtest.MirrorIndex|regtest.MirrorVersion)
	srv := serve(t, reg)

	project := terraformtest.New(t, program)
	project.Trust(t, srv.CertPEM)
	project.Require(t, map[string]string{host + "/acme/alpha": "1.0.0"})
	project.Configure(t, fmt.Sprintf("provider_installation {\n  network_mirror {\n    url = %q\n  }\n}\ncredentials %q {\n  token = \"s3cret\"\n}\n", srv.MirrorURL(), srv.Addr))
	project.Init(t)

	lock := project.Read(t, ".terraform.lock.hcl")
	for _, want := range []string{rel.H1(here).String(), `"` + host + `/acme/alpha"`} {
		if !strings.Contains(lock, want) {
			t.Errorf("the lock file does not have %s:\n%s", want, lock)
		}
	}
	for _, q := range reg.Requests() {
		if q.Kind&(regtest.MirrorIndex|regtest.MirrorVersion|regtest.Archive) == 0 || q.Kind == regtest.Archive && q.Authorization != "" {
			t.Errorf("%v", q)
		}
	}
}
