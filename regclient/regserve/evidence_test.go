package regserve_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/regclient/regserve"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/transport"
)

// sumsFrom requests the SHA256SUMS document of a package and its signature.
func sumsFrom(h http.Handler, version string) (status int, body string) {
	path := "/v1/providers/acme/alpha/" + version + "/download/linux/amd64/SHA256SUMS"
	for _, name := range []string{path, path + ".sig"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, name, nil))
		status, body = w.Code, body+w.Body.String()
	}
	return status, body
}

// Evidence that does not agree with its package is not kept; other evidence is kept for minutes.
func TestEvidenceIsKept(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]regtest.Fault{
		"a maintenance page for the sums":      {Kind: regtest.Sums, Raw: []byte("<html>later</html>")},
		"a maintenance page for the signature": {Kind: regtest.Signature, Raw: []byte("<html>later</html>")},
		"one bit of the sums":                  {Kind: regtest.Sums, Corrupt: true},
		"one bit of the signature":             {Kind: regtest.Signature, Corrupt: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reg, h := origin(t)
				_, good := sumsFrom(&regserve.Handler{Providers: h.Providers, Host: h.Host}, "1.0.0")
				fault.First = 2 // of the two documents
				reg.AddFault(fault)
				if _, bad := sumsFrom(h, "1.0.0"); bad == good {
					t.Fatal("the fault has no effect")
				}
				reg.Reset()
				asked := func() int { return reg.Count(regtest.Sums) }
				for range 3 {
					if status, got := sumsFrom(h, "1.0.0"); status != http.StatusOK || got != good {
						t.Errorf("after the fault: status %d, %q; want the documents", status, got)
					}
				}
				if n := asked(); n != 1 {
					t.Errorf("the origin was asked for the sums %d times, want once", n)
				}
				time.Sleep(5*time.Minute - time.Second)
				if sumsFrom(h, "1.0.0"); asked() != 1 {
					t.Error("the sums were not kept for 5 minutes")
				}
				time.Sleep(time.Second)
				if sumsFrom(h, "1.0.0"); asked() != 2 {
					t.Errorf("after 5 minutes the origin was asked %d times in all, want 2", asked())
				}
			})
		})
	}
}

// Full memory does not end the keeping: something else goes.
func TestEvidenceIsEvicted(t *testing.T) {
	t.Parallel()
	reg := regtest.New(originHost)
	line := strings.Repeat("0", 64) + "  " + strings.Repeat("x", 1000) + "%d.zip\n"
	for i := range 40 { // of 1 MB each
		reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: fmt.Sprintf("1.%d.0", i), Platforms: []string{"linux_amd64"}, EditSums: func(sums []byte) []byte {
			for n := range 900 {
				sums = fmt.Appendf(sums, line, n)
			}
			return sums
		}})
	}
	client := &regclient.Client{Transport: &transport.Client{HTTP: reg.Client()}}
	h := &regserve.Handler{Providers: client, Host: svchost.MustParse(originHost)}
	for i := range 40 {
		before := reg.Count(regtest.Sums)
		for range 2 {
			if status, _ := sumsFrom(h, fmt.Sprintf("1.%d.0", i)); status != http.StatusOK {
				t.Fatalf("version %d: status %d", i, status)
			}
		}
		if n := reg.Count(regtest.Sums) - before; n != 1 {
			t.Errorf("version %d: the origin was asked for the sums %d times, want once", i, n)
		}
	}
	before := reg.Count(regtest.Sums)
	for i := range 40 {
		sumsFrom(h, fmt.Sprintf("1.%d.0", i))
	}
	if n := reg.Count(regtest.Sums) - before; n == 0 {
		t.Error("40 MB were kept, want 32 MiB at most")
	}
}
