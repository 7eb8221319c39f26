package layout_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/auth/login"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/mirrorclient"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/transport/doccache"
	"github.com/tofureg/tofureg/transport/throttle"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

func fetchModule(ctx context.Context, registry *regclient.Client, dir string) (checksum.Hash, error) {
	source := addrs.MustParseModuleSource("terraform-aws-modules/iam/aws//modules/iam-user")
	versions, err := registry.ModuleVersions(ctx, source.Module)
	if err != nil {
		return checksum.Hash{}, err
	}
	version, err := versions.Newest(addrs.MustParseModuleConstraint("~> 5.0"))
	if err != nil {
		return checksum.Hash{}, err
	}
	report, err := module.Download(ctx, registry, source, version, dir, module.Options{Git: &module.Git{}, Replace: true})
	if err != nil {
		return checksum.Hash{}, err
	}
	fmt.Println("the module is in", report.ModuleDir())
	return report.H1, nil
}

func fromMirror(ctx context.Context, lock *lockfile.File, mirror *mirrorclient.Client, dir string) (*verify.Report, error) {
	random, constraint := addrs.MustParseProvider("hashicorp/random"), addrs.MustParseProviderConstraint("~> 3.6")
	pkg, err := provider.Find(ctx, mirror, random, constraint, provider.Need{})
	if err != nil {
		return nil, err
	}
	policy := verify.Policy{AllowUnsigned: true} // trusts the hashes that the mirror states
	if lock.Covers(random, pkg.Version) {
		policy = verify.Policy{Accept: lock.Accept(random, pkg.Version)} // trusts the lock file only
	}
	return provider.Download(ctx, mirror, pkg, filepath.Join(dir, pkg.ArchiveName()), provider.Options{Policy: policy})
}

func logIn(ctx context.Context, web *transport.Client, host svchost.Hostname, file auth.CredentialsFile, open func(url string) error) error {
	web.Credentials = auth.Chain(auth.Environ(os.Environ()), file)
	token, err := web.Credentials.Token(ctx, host)
	if err != nil || !token.IsZero() {
		return err // a source failed, or the user has a token
	}
	client := &login.Client{Transport: web, Store: file, Open: open}
	_, err = client.Login(ctx, host)
	return err
}

func TestNewest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // waits take no time
		reg := regtest.New("registry.opentofu.org")
		for _, version := range []string{"3.5.1", "3.6.3", "4.0.0"} {
			reg.AddProvider(regtest.Provider{Address: "hashicorp/random", Version: version})
		}
		reg.AddFault(regtest.Fault{Kind: regtest.Versions, Status: http.StatusServiceUnavailable, First: 1})

		version, err := newest(t.Context(), &regclient.Client{Transport: &transport.Client{HTTP: reg.Client()}})
		if err != nil || version.String() != "3.6.3" {
			t.Errorf("newest returns %s, %v; want 3.6.3", version, err)
		}
		if n := reg.Count(regtest.Versions); n != 2 {
			t.Errorf("%d requests, want one and its repetition", n)
		}
	})
}

func cachedAndThrottled(dir string, base http.RoundTripper) *transport.Client {
	throttled := &throttle.Transport{Base: base, PerSecond: 20, Parallel: 8}
	cached := &doccache.Transport{Base: throttled, Dir: dir, FreshFor: time.Minute, StaleIfError: time.Hour}
	return &transport.Client{HTTP: &http.Client{Transport: cached}}
}
