package attest_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tofureg/tofureg/failure"

	"github.com/golang/snappy"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/contrib/attest"
	"github.com/tofureg/tofureg/contrib/attest/internal/must"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

var (
	v120  = addrs.MustParseVersion("1.2.0")
	linux = addrs.MustParsePlatform("linux_amd64")
)

// published is a registry with a release of the demo provider for two platforms, and GitHub with the attestations of the
// files in it.
type published struct {
	reg *regtest.Registry
	rel *regtest.Release

	mu      sync.Mutex
	bundles map[string]string // by digest
	asked   []string          // digests that GitHub was asked for
}

var platforms = []string{"darwin_arm64", "linux_amd64"}

func publish() *published {
	p := &published{reg: regtest.New("registry.opentofu.org"), bundles: map[string]string{}}
	p.rel = p.reg.AddProvider(regtest.Provider{Address: "acme/demo", Version: "1.2.0", Platforms: platforms})
	return p
}

// attest makes GitHub know the builder of some files.
func (p *published) attest(a *attestation, files ...checksum.Hash) {
	for _, zh := range files {
		a.Subjects = []checksum.Hash{zh}
		p.bundles[zh.Value()] = sigstore().Bundle(a)
	}
}

// RoundTrip answers for all hosts.
func (p *published) RoundTrip(r *http.Request) (*http.Response, error) {
	switch r.URL.Host {
	case "api.github.com", "blobs.example.com":
	default:
		return p.reg.RoundTrip(r)
	}
	return hosts{
		"api.github.com": func(w http.ResponseWriter, r *http.Request) {
			digest, _ := strings.CutPrefix(path.Base(r.URL.Path), "sha256:")
			p.mu.Lock()
			defer p.mu.Unlock()
			p.asked = append(p.asked, digest)
			if p.bundles[digest] == "" {
				w.WriteHeader(404)
				return
			}
			io.WriteString(w, list("https://blobs.example.com/"+digest))
		},
		"blobs.example.com": func(w http.ResponseWriter, r *http.Request) {
			p.mu.Lock()
			defer p.mu.Unlock()
			w.Write(snappy.Encode(nil, []byte(p.bundles[path.Base(r.URL.Path)])))
		},
	}.RoundTrip(r)
}

func (p *published) web() *transport.Settings {
	return &transport.Settings{HTTP: &http.Client{Transport: p}, Retries: -1}
}

// verifier returns a verifier that asks GitHub.
func (p *published) verifier() *attest.Verifier {
	v := verifier()
	v.Bundles = &attest.GitHub{Transport: p.web()}
	return v
}

func demanded(v *attest.Verifier) func(addrs.Provider) verify.Policy {
	return func(p addrs.Provider) verify.Policy { return verify.Policy{Provenance: v.Provenance(p)} }
}

var required = install.Requirements{demo: {}}

// TestInstall: an installer with the policy accepts attested archives only, and the report says who built what.
func TestInstall(t *testing.T) {
	t.Parallel()
	p := publish()
	v := p.verifier()
	in := &install.Installer{
		Source: v.Source(&regclient.Client{Transport: p.web()}), Dir: &install.Dir{Path: t.TempDir()}, Platform: linux,
		Policy: demanded(v),
	}
	if _, err := in.Ensure(t.Context(), required, nil); !errors.Is(err, verify.ErrProvenance) {
		t.Fatalf("Ensure without attestations: %v, want %v", err, verify.ErrProvenance)
	}
	p.attest(with(func(a *attestation) { a.Repository = "https://github.com/evil/terraform-provider-demo" }), p.rel.ZH("linux_amd64"))
	if _, err := in.Ensure(t.Context(), required, nil); !errors.Is(err, attest.ErrIdentity) {
		t.Fatalf("Ensure of an archive that another repository built: %v, want %v", err, attest.ErrIdentity)
	}
	if n := p.reg.Count(regtest.Archive); n != 0 {
		t.Errorf("%d downloads of refused archives, want none, because the stated zh decides", n)
	}
	p.attest(good(), p.rel.ZH("linux_amd64"))
	result := must.Get(in.Ensure(t.Context(), required, nil))(t)
	report := result.Selections[0].Reports[linux]
	if !strings.HasSuffix(report.String(), ", which the source lists, built from "+repository+" at refs/tags/v1.2.0") {
		t.Errorf("report: %s, want key and repository", report)
	}
	if by := report.BuiltBy; by.Workflow != good().WorkflowURL() || by.Issuer != attest.GitHubIssuer || by.Time.IsZero() {
		t.Errorf("report: built by %+v", by)
	}
}

// TestMirror: a mirror keeps the bundles, and who installs from it verifies them again without a request to GitHub.
func TestMirror(t *testing.T) {
	t.Parallel()
	p := publish()
	p.attest(good(), p.rel.ZH("linux_amd64"), p.rel.ZH("darwin_arm64"))
	v := p.verifier()
	m := must.Get(mirrordir.Open(t.TempDir()))(t)
	wants := []mirrordir.Want{{Provider: demo, Version: v120}}
	added, err := m.Add(t.Context(), v.Source(&regclient.Client{Transport: p.web()}), wants, mirrordir.AddOptions{Policy: demanded(v)})
	if err != nil || len(added) != 2 || added[0].Report.BuiltBy == nil {
		t.Fatalf("Add: %+v, %v, want two packages with a builder", added, err)
	}
	p.asked = nil
	for name, src := range map[string]provider.Source{"mirror": m, "wrapped mirror": v.Source(m)} {
		offline := verifier()
		in := &install.Installer{Source: src, Dir: &install.Dir{Path: t.TempDir()}, Platform: linux, Policy: demanded(offline)}
		result, err := in.Ensure(t.Context(), required, nil)
		if err != nil || result.Selections[0].Reports[linux].BuiltBy == nil {
			t.Errorf("Ensure from the %s: %v, want a builder", name, err)
		}
		offline.Rule = func(addrs.Provider) attest.Identity {
			return attest.Identity{Issuer: attest.GitHubIssuer, Repository: "https://github.com/another/repository"}
		}
		in.Policy = demanded(offline)
		if _, err := in.Ensure(t.Context(), required, nil); !errors.Is(err, attest.ErrIdentity) {
			t.Errorf("Ensure from the %s with another rule: %v, want %v", name, err, attest.ErrIdentity)
		}
	}
	if len(p.asked) > 0 {
		t.Errorf("GitHub was asked for %q, want nothing", p.asked)
	}
}

// TestSourceOfSums: the bundles of SHA256SUMS are looked up if there are none of the archive and the caller permits that.
func TestSourceOfSums(t *testing.T) {
	t.Parallel()
	p := publish()
	p.attest(good(), checksum.ZHSum(sumOf(p.rel.Sums())))
	v := p.verifier()
	ask := func() (*verify.Report, error) {
		in := &install.Installer{
			Source: v.Source(&regclient.Client{Transport: p.web()}), Dir: &install.Dir{Path: t.TempDir()}, Platform: linux,
			Policy: demanded(v),
		}
		result, err := in.Ensure(t.Context(), required, nil)
		if err != nil {
			return nil, err
		}
		if _, err := in.Ensure(t.Context(), required, result.Lock); err != nil { // an accepted hash needs SHA256SUMS, too
			return nil, err
		}
		return result.Selections[0].Reports[linux], nil
	}
	if _, err := ask(); !errors.Is(err, verify.ErrProvenance) {
		t.Errorf("Ensure without AllowSums: %v, want %v", err, verify.ErrProvenance)
	}
	v.AllowSums = true
	if report, err := ask(); err != nil || report.BuiltBy == nil {
		t.Errorf("Ensure with AllowSums: %v, %v, want a builder", report, err)
	}
	p.attest(good(), p.rel.ZH("linux_amd64"))
	p.asked = nil
	if _, err := ask(); err != nil || slices.Contains(p.asked, checksum.ZHSum(sumOf(p.rel.Sums())).Value()) {
		t.Errorf("Ensure with an attestation of the archive: %v, asked for %q, want the archive only", err, p.asked)
	}
}

// TestSource: bundles are looked up only where they are missing, known by a hash, and of a provider with a rule.
func TestSource(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	one := &provider.Package{Provider: demo, Version: v120, Platform: linux, SHA256: archive}
	for name, test := range map[string]struct {
		pkg  func(p *provider.Package)
		rule func(addrs.Provider) attest.Identity
		err  error
		want string // attestations
		asks int
	}{
		"looked up":   {nil, attest.OnGitHub, nil, "found", 1},
		"fails":       {nil, attest.OnGitHub, failed, "", 1},
		"known":       {func(p *provider.Package) { p.Attestations = []string{"known"} }, attest.OnGitHub, nil, "known", 0},
		"no hash":     {func(p *provider.Package) { p.SHA256 = checksum.Hash{} }, attest.OnGitHub, nil, "", 0},
		"two hashes":  {func(p *provider.Package) { p.Hashes = map[addrs.Platform][]checksum.Hash{linux: {other}} }, attest.OnGitHub, nil, "", 0},
		"no rule":     {nil, nil, nil, "", 0},
		"no identity": {nil, func(addrs.Provider) attest.Identity { return attest.Identity{} }, nil, "", 0},
	} {
		given := one.Clone()
		if test.pkg != nil {
			test.pkg(given)
		}
		before := len(given.Attestations)
		found := &asked{err: test.err}
		v := &attest.Verifier{Rule: test.rule, Bundles: found}
		got, err := v.Source(only{pkg: given}).ProviderPackage(t.Context(), demo, v120, linux)
		if err != nil || strings.Join(got.Attestations, " ") != test.want || found.n != test.asks {
			t.Fatalf("%s: ProviderPackage: %v, %v after %d calls of Bundles, want %q after %d", name, got, err, found.n, test.want, test.asks)
		}
		if _, ok := errors.AsType[*failure.Error](got.AttestationError); !errors.Is(got.AttestationError, test.err) || ok != (test.err != nil) {
			t.Errorf("%s: ProviderPackage: attestation error %v (%T), want a *failure.Error with %v", name, got.AttestationError, got.AttestationError, test.err)
		}
		if len(given.Attestations) != before {
			t.Errorf("%s: ProviderPackage changes the package of the source", name)
		}
	}
	if _, err := (&attest.Verifier{}).Source(only{err: failed}).ProviderPackage(t.Context(), demo, v120, linux); err != failed {
		t.Errorf("ProviderPackage of a source that fails: %v, want %v", err, failed)
	}
}

// TestSourceFails: an error of Bundles fails providers whose policy demands provenance, and no others.
func TestSourceFails(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	p := publish()
	v := p.verifier()
	v.Bundles = &asked{err: failed}
	for _, policy := range []func(addrs.Provider) verify.Policy{nil, demanded(v)} {
		in := &install.Installer{
			Source: v.Source(&regclient.Client{Transport: p.web()}), Dir: &install.Dir{Path: t.TempDir()}, Platform: linux, Policy: policy,
		}
		_, err := in.Ensure(t.Context(), required, nil)
		if demands := policy != nil; errors.Is(err, verify.ErrProvenance) != demands || errors.Is(err, failed) != demands {
			t.Errorf("Ensure with a policy that demands provenance (%v): %v, want an error only then", demands, err)
		}
	}
}

// asked counts the calls.
type asked struct {
	n   int
	err error
}

func (a *asked) Bundles(context.Context, attest.Identity, *provider.Package, checksum.Hash) ([]string, error) {
	a.n++
	return []string{"found"}, a.err
}

// only is a source with one package.
type only struct {
	provider.Source
	pkg *provider.Package
	err error
}

func (o only) ProviderPackage(context.Context, addrs.Provider, addrs.Version, addrs.Platform) (*provider.Package, error) {
	return o.pkg, o.err
}
