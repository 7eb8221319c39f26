package attest_test

import (
	"context"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/contrib/attest"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
)

func demandProvenance(ctx context.Context, web *transport.Settings, cacheDir string) (*install.Installer, error) {
	trusted, err := (&attest.TUF{Dir: cacheDir, Transport: web}).TrustedRoot(ctx)
	if err != nil {
		return nil, err
	}
	v := &attest.Verifier{Root: trusted, Rule: attest.OnGitHub, Bundles: &attest.GitHub{Transport: web}}
	return &install.Installer{
		Source: v.Source(&regclient.Client{Transport: web}),
		Dir:    &install.Dir{Path: ".terraform/providers"},
		Policy: func(p addrs.Provider) verify.Policy { return verify.Policy{Provenance: v.Provenance(p)} },
	}, nil
}

func onlyForNewVersions(v *attest.Verifier, lock *lockfile.File) func(addrs.Provider) verify.Policy {
	return func(p addrs.Provider) verify.Policy {
		if _, locked := lock.Get(p); locked {
			return verify.Policy{} // the locked hashes decide
		}
		return verify.Policy{Provenance: v.Provenance(p)}
	}
}
